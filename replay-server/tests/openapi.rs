//! Is the document in the repository the one that the server gives?

use expect_test::expect_file;

#[test]
fn the_document_in_the_repository_is_the_servers() {
    // UPDATE_EXPECT=1 writes it anew.
    expect_file!["../openapi.json"].assert_eq(&replay_server::http::document());
}
