//! What did the service answer, or why did it not, and what can an operator do about it?

use std::error::Error;

use aws_sdk_s3::{
    config::http::HttpResponse,
    error::{ProvideErrorMetadata, SdkError},
};

use super::S3Store;
use crate::StoreError;

/// Of the words of a peer this much is shown.
const MAX_SHOWN: usize = 120;

/// Why a call gave nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The service said no.
    Answered {
        /// The HTTP status.
        status: u16,
        /// Such as `AccessDenied`; empty where the answer had none, as to HEAD.
        code: String,
    },
    /// The service said nothing in time.
    Silent(String),
    /// The service could not be reached, or did not say all of it.
    Broken(String),
}

impl Fault {
    pub(super) fn of<E>(error: &SdkError<E, HttpResponse>) -> Self
    where
        E: ProvideErrorMetadata + Error + 'static,
    {
        match error {
            SdkError::ServiceError(answer) if answer.raw().status().is_success() => {
                Self::Broken("its answer makes no sense".into())
            }
            SdkError::ServiceError(answer) => Self::Answered {
                status: answer.raw().status().as_u16(),
                code: shown(error.code().unwrap_or_default()),
            },
            SdkError::ResponseError(answer) if !answer.raw().status().is_success() => {
                Self::Answered {
                    status: answer.raw().status().as_u16(),
                    code: String::new(),
                }
            }
            SdkError::ResponseError(_) => Self::Broken("its answer broke off".into()),
            SdkError::TimeoutError(_) => Self::Silent("it did not answer in time".into()),
            SdkError::DispatchFailure(failure) if failure.is_timeout() => {
                Self::Silent("it did not take the connection in time; check its address".into())
            }
            other => Self::Broken(format!(
                "{}; check its address and that it runs",
                shown(&root(other))
            )),
        }
    }

    pub(super) const fn status(&self) -> u16 {
        match self {
            Self::Answered { status, .. } => *status,
            Self::Silent(_) | Self::Broken(_) => 0,
        }
    }

    /// The service knows the bucket and has no such object, or version, in it.
    pub(super) fn is_absent(&self) -> bool {
        matches!(self, Self::Answered { status: 404, code } if code != "NoSuchBucket")
    }

    pub(super) fn into_error(self, store: &S3Store, doing: String) -> StoreError {
        let url = store.address.url.clone();
        match self {
            Self::Answered { status, code } => StoreError::Refused {
                url,
                doing,
                status,
                advice: advice(status, &code),
                code,
            },
            Self::Silent(reason) => StoreError::Silent { url, doing, reason },
            Self::Broken(reason) => StoreError::Unreachable { url, doing, reason },
        }
    }
}

/// What an operator can do.
fn advice(status: u16, code: &str) -> &'static str {
    match (status, code) {
        (_, "InvalidAccessKeyId") => "the store does not know AWS_ACCESS_KEY_ID",
        (_, "SignatureDoesNotMatch") => "AWS_SECRET_ACCESS_KEY does not fit AWS_ACCESS_KEY_ID",
        (_, "ExpiredToken" | "InvalidToken" | "TokenRefreshRequired") => {
            "AWS_SESSION_TOKEN is wrong or has expired"
        }
        (_, "RequestTimeTooSkewed" | "RequestExpired") => {
            "set this machine's clock: it differs from the store's"
        }
        (_, "NoSuchBucket") => "make the bucket or correct its name",
        (_, "AuthorizationHeaderMalformed" | "IllegalLocationConstraintException") => {
            "correct the parameter region: the bucket is elsewhere"
        }
        (300..=399, _) => "correct endpoint and region: the bucket is elsewhere",
        (401 | 403, _) => "give these credentials the right to do that, and check their spelling",
        (409, _) => "others write the same object; try again",
        (429 | 503, _) => "it is busy; try again later",
        (501, _) => "it cannot do that; choose another store",
        (500..=599, _) => "it has a fault; look at its log",
        _ => "look at the store's log",
    }
}

/// The innermost cause.
fn root(mut error: &dyn Error) -> String {
    while let Some(cause) = error.source() {
        error = cause;
    }
    error.to_string()
}

/// A peer's words, made harmless.
fn shown(text: &str) -> String {
    let plain = |c: &char| c.is_ascii_graphic() || *c == ' ';
    text.chars().filter(plain).take(MAX_SHOWN).collect()
}
