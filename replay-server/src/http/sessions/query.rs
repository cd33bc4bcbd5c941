//! Reads which sessions to list.

use capture::WallTime;
use index::{
    catalog::{Cursor, SessionQuery, Sort},
    row::Outcome,
};

use crate::http::ApiError;

/// The query of an address. Empty filters match all.
pub(super) fn parse(query: &str) -> Result<SessionQuery, ApiError> {
    let mut asked = SessionQuery::default();
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        if value.is_empty() {
            continue;
        }
        let value = value.into_owned();
        match &*name {
            "q" => asked.q = Some(value),
            "actor" => asked.actor = Some(value),
            "os" => asked.os = Some(value),
            "protocol" => asked.protocol = Some(value),
            "run" => asked.run = Some(value),
            "outcome" => asked.outcome = Some(outcome(&value)?),
            "from" => asked.from = Some(utc("from", &value)?),
            "to" => asked.to = Some(utc("to", &value)?),
            "live" => asked.live = Some(parsed("live", &value, "true or false")?),
            "sort" => asked.sort = sort(&value)?,
            "limit" => asked.limit = parsed("limit", &value, "a number")?,
            "cursor" => asked.cursor = Some(Cursor(value)),
            other => match other.strip_prefix("label.") {
                Some(label) if !label.is_empty() => {
                    asked.labels.insert(label.to_owned(), value);
                }
                _ => {
                    let problem = format!("{other:.64?} is no filter of sessions");
                    return Err(ApiError::parameter("query", problem));
                }
            },
        }
    }
    Ok(asked)
}

fn parsed<T: std::str::FromStr>(name: &str, value: &str, form: &str) -> Result<T, ApiError> {
    let parsed = value.parse();
    parsed.map_err(|_| ApiError::parameter(name, format!("must be {form}")))
}

fn utc(name: &str, value: &str) -> Result<WallTime, ApiError> {
    value
        .parse()
        .map_err(|error: capture::time::ParseWallTimeError| ApiError::parameter(name, error))
}

fn outcome(value: &str) -> Result<Outcome, ApiError> {
    Outcome::from_word(value).ok_or_else(|| {
        let words: Vec<&str> = Outcome::ALL.iter().map(|word| word.as_str()).collect();
        ApiError::parameter("outcome", format!("must be one of {}", words.join(", ")))
    })
}

fn sort(value: &str) -> Result<Sort, ApiError> {
    match value {
        "newest" => Ok(Sort::Newest),
        "oldest" => Ok(Sort::Oldest),
        "longest" => Ok(Sort::Longest),
        "largest" => Ok(Sort::Largest),
        _ => Err(ApiError::parameter(
            "sort",
            "must be one of newest, oldest, longest, largest",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_read_and_empty_ones_match_all() {
        let asked = parse("q=two+words&actor=&label.team=a%20b&live=false&sort=oldest").unwrap();
        assert_eq!(asked.q.as_deref(), Some("two words"));
        assert_eq!((asked.actor, asked.live), (None, Some(false)));
        assert_eq!(asked.labels["team"], "a b");
        assert_eq!(asked.sort, Sort::Oldest);
    }

    #[test]
    fn a_filter_that_is_wrong_is_refused() {
        for query in [
            "actr=a",
            "label.=x",
            "outcome=denied",
            "from=yesterday",
            "live=1",
            "limit=-1",
            "sort=best",
        ] {
            assert!(parse(query).is_err(), "{query}");
        }
    }
}
