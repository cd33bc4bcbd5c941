//! A client that waits and reads within bounds, and never asks twice: whoever calls owns the
//! retries.

use std::{mem, time::Duration};

use aws_sdk_s3::{
    Client, Config,
    config::{
        BehaviorVersion, ConfigBag, Credentials, Intercept, Region, RequestChecksumCalculation,
        ResponseChecksumValidation, RuntimeComponents, StalledStreamProtectionConfig,
        http::HttpResponse, interceptors::BeforeDeserializationInterceptorContextMut,
        retry::RetryConfig, timeout::TimeoutConfig,
    },
    error::{BoxError, ProvideErrorMetadata, SdkError},
    primitives::SdkBody,
};
use aws_smithy_http_client::tls::{self, rustls_provider::CryptoMode};
use aws_smithy_runtime_api::client::{interceptors::dyn_dispatch_hint, orchestrator::Metadata};
use http_body_util::Limited;
use tokio::time::timeout;

use super::{address::Address, fault::Fault};
use crate::MAX_OBJECT_BYTES;

/// An answer that is no object: a page of 1000 keys of 1 KiB, each escaped, is far smaller.
const MAX_ANSWER_BYTES: usize = 8 << 20;

/// How long a call may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// For the connection.
    pub(super) connect: Duration,
    /// For an answer, beside the time that bytes need.
    pub(super) answer: Duration,
    /// The slowest line on which a session of usual size can still be delivered.
    pub(super) bytes_per_second: u64,
}

impl Patience {
    pub(super) const USUAL: Self = Self {
        connect: Duration::from_secs(5),
        answer: Duration::from_secs(30),
        bytes_per_second: 64 * 1024,
    };

    /// For a call that moves `bytes`.
    pub(super) fn with(self, bytes: u64) -> Duration {
        self.answer + Duration::from_secs(bytes / self.bytes_per_second)
    }
}

/// A client for `address`.
pub(super) fn client(address: &Address, credentials: Credentials, patience: Patience) -> Client {
    let http = aws_smithy_http_client::Builder::new()
        .tls_provider(tls::Provider::Rustls(CryptoMode::Ring))
        .build_https();
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(patience.connect)
        .build();
    let mut config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(http)
        .credentials_provider(credentials)
        .region(Region::new(address.region.clone()))
        .force_path_style(address.path_style)
        // Other stores refuse the trailers that are sent otherwise.
        .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
        .response_checksum_validation(ResponseChecksumValidation::WhenRequired)
        .retry_config(RetryConfig::disabled())
        .timeout_config(timeouts)
        // Every call here has a bound of its own.
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .interceptor(Bounded);
    if let Some(endpoint) = &address.endpoint {
        config = config.endpoint_url(endpoint);
    }
    Client::from_conf(config.build())
}

/// What `call` gives within `limit`.
pub(super) async fn ask<T, E>(
    limit: Duration,
    call: impl Future<Output = Result<T, SdkError<E, HttpResponse>>>,
) -> Result<T, Fault>
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    match timeout(limit, call).await {
        Ok(answer) => answer.map_err(|error| Fault::of(&error)),
        Err(_) => Err(late(limit)),
    }
}

/// Nothing came within `limit`.
pub(super) fn late(limit: Duration) -> Fault {
    Fault::Silent(format!("it did not answer within {limit:?}"))
}

/// Ends every answer at its bound: the SDK reads answers into memory whole, but for objects.
#[derive(Debug)]
struct Bounded;

#[dyn_dispatch_hint]
impl Intercept for Bounded {
    fn name(&self) -> &'static str {
        "Bounded"
    }

    fn modify_before_deserialization(
        &self,
        context: &mut BeforeDeserializationInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let operation = config.load::<Metadata>().map(Metadata::name);
        let response = context.response_mut();
        let is_object = operation == Some("GetObject") && response.status().is_success();
        // One more, so that the reader sees that there is more.
        let limit = if is_object {
            usize::try_from(MAX_OBJECT_BYTES + 1)?
        } else {
            MAX_ANSWER_BYTES
        };
        let body = mem::replace(response.body_mut(), SdkBody::taken());
        *response.body_mut() = SdkBody::from_body_1_x(Limited::new(body, limit));
        Ok(())
    }
}
