//! Which bucket, where, and with whose key? `s3://bucket/prefix?endpoint=…&region=…&path_style=…`
//! and the standard variables `AWS_…`; the URL never holds a secret.

use aws_sdk_s3::config::Credentials;
use url::Url;

use crate::key;

/// The region where an endpoint is given and no region: other stores than Amazon's take any.
const ANY_REGION: &str = "us-east-1";

/// Where a store's objects lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) bucket: String,
    /// What each key begins with: empty, or ending in a slash.
    pub(super) prefix: String,
    /// Another service than Amazon's.
    pub(super) endpoint: Option<String>,
    pub(super) region: String,
    /// The bucket stands in the path, not in the host's name.
    pub(super) path_style: bool,
    /// The URL, to be shown and kept.
    pub(super) url: String,
}

impl Address {
    /// Reads `url`; what it leaves open comes from the environment that `variable` reads. The
    /// error is a text that names the parameter.
    pub(super) fn parse(
        url: &Url,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        if !url.username().is_empty() || url.password().is_some() || url.port().is_some() {
            return Err(
                "write s3://bucket/prefix; keys belong into AWS_ACCESS_KEY_ID and \
                        AWS_SECRET_ACCESS_KEY, a host into ?endpoint="
                    .into(),
            );
        }
        if url.fragment().is_some() {
            return Err("has a part after '#', which means nothing here".into());
        }
        let bucket = bucket(url.host_str().unwrap_or_default())?;
        let prefix = prefix(url.path())?;
        let Parameters {
            endpoint,
            region,
            path_style,
        } = Parameters::read(url)?;

        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let endpoint = match endpoint {
            Some(given) => Some(http("parameter endpoint", &given)?),
            None => ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]
                .iter()
                .find_map(|name| Some(http(name, &set(name)?)))
                .transpose()?,
        };
        let region = match region {
            Some(given) => check_region("parameter region", given)?,
            None => match set("AWS_REGION") {
                Some(given) => check_region("AWS_REGION", given)?,
                None if endpoint.is_some() => ANY_REGION.to_owned(),
                None => return Err("needs a region; write ?region=… or set AWS_REGION".into()),
            },
        };
        Ok(Self {
            path_style: path_style.unwrap_or(endpoint.is_some()),
            bucket,
            prefix,
            endpoint,
            region,
            url: url.to_string(),
        })
    }
}

/// The key to sign with, from the environment that `variable` reads.
pub(super) fn credentials(
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Credentials, String> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let needed = |name: &str| set(name).ok_or_else(|| format!("set {name}"));
    Ok(Credentials::new(
        needed("AWS_ACCESS_KEY_ID")?,
        needed("AWS_SECRET_ACCESS_KEY")?,
        set("AWS_SESSION_TOKEN"),
        None,
        "environment",
    ))
}

/// What follows the `?`, each at most once.
#[derive(Default)]
struct Parameters {
    endpoint: Option<String>,
    region: Option<String>,
    path_style: Option<bool>,
}

impl Parameters {
    fn read(url: &Url) -> Result<Self, String> {
        let mut read = Self::default();
        for (name, value) in url.query_pairs() {
            let value = value.into_owned();
            let twice = match &*name {
                "endpoint" => read.endpoint.replace(value).is_some(),
                "region" => read.region.replace(value).is_some(),
                "path_style" => {
                    let value = match value.as_str() {
                        "true" => true,
                        "false" => false,
                        _ => return Err("parameter path_style: write true or false".into()),
                    };
                    read.path_style.replace(value).is_some()
                }
                other => {
                    return Err(format!(
                        "has no parameter {other:.40?}; there are endpoint, region and path_style"
                    ));
                }
            };
            if twice {
                return Err(format!("parameter {name}: is given twice"));
            }
        }
        Ok(read)
    }
}

fn bucket(name: &str) -> Result<String, String> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b".-_".contains(&b);
    if (3..=63).contains(&name.len()) && name.bytes().all(allowed) {
        Ok(name.to_owned())
    } else {
        Err("bucket: must have 3 to 63 letters, digits, '.', '-' or '_'".into())
    }
}

fn prefix(path: &str) -> Result<String, String> {
    let path = path.trim_matches('/');
    if path.is_empty() {
        return Ok(String::new());
    }
    match key::check(path) {
        Ok(()) => Ok(format!("{path}/")),
        Err(error) => Err(format!("prefix: {error}")),
    }
}

/// `value` as the address of a service; `name` says where it was given.
fn http(name: &str, value: &str) -> Result<String, String> {
    let refuse = |reason: &str| {
        format!("{name}: {reason}; write it like https://s3.example.net or http://127.0.0.1:9000")
    };
    let url = Url::parse(value).map_err(|error| refuse(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(refuse("is no address over HTTP"));
    }
    let secret = !url.username().is_empty() || url.password().is_some();
    if secret || url.query().is_some() || url.fragment().is_some() {
        return Err(refuse("may hold a host, a port and a path alone"));
    }
    Ok(value.trim_end_matches('/').to_owned())
}

fn check_region(name: &str, value: String) -> Result<String, String> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
    if (1..=40).contains(&value.len()) && value.bytes().all(allowed) {
        Ok(value)
    } else {
        Err(format!("{name}: write it like eu-central-1"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str, set: &[(&str, &str)]) -> Result<Address, String> {
        let variable = |name: &str| {
            let found = set.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Address::parse(&Url::parse(url).unwrap(), variable)
    }

    #[test]
    fn a_url_alone_says_everything() {
        let url = "s3://recordings/a/b/?endpoint=http://127.0.0.1:9000&region=x-1&path_style=false";
        let address = parse(url, &[("AWS_REGION", "other")]).unwrap();
        assert_eq!(address.bucket, "recordings");
        assert_eq!(address.prefix, "a/b/");
        assert_eq!(address.endpoint.as_deref(), Some("http://127.0.0.1:9000"));
        assert_eq!(address.region, "x-1");
        assert!(!address.path_style);
        assert_eq!(address.url, url);
    }

    #[test]
    fn the_environment_says_the_rest() {
        let amazon = parse("s3://recordings", &[("AWS_REGION", "eu-central-1")]).unwrap();
        assert_eq!((amazon.endpoint, amazon.path_style), (None, false));
        assert_eq!((&*amazon.region, &*amazon.prefix), ("eu-central-1", ""));

        let own = [
            ("AWS_ENDPOINT_URL", "https://other"),
            ("AWS_ENDPOINT_URL_S3", "https://s3.example.net/"),
        ];
        let own = parse("s3://recordings/p", &own).unwrap();
        assert_eq!(own.endpoint.as_deref(), Some("https://s3.example.net"));
        assert_eq!((&*own.region, own.path_style), (ANY_REGION, true));
    }

    #[test]
    fn errors_name_what_is_wrong() {
        for (url, names) in [
            ("s3://", "bucket"),
            ("s3://ab/x", "bucket"),
            ("s3://recordings", "region"),
            ("s3://recordings/a//b?region=r", "prefix"),
            ("s3://recordings/a%20b?region=r", "prefix"),
            ("s3://recordings?region=a/b", "region"),
            ("s3://recordings?region=a&region=b", "region"),
            ("s3://recordings?region=r&path_style=yes", "path_style"),
            ("s3://recordings?region=r&style=path", "style"),
            ("s3://recordings?endpoint=ftp://x", "endpoint"),
            ("s3://recordings?endpoint=host:1", "endpoint"),
            ("s3://recordings?endpoint=https://u:p@x", "endpoint"),
            ("s3://recordings:80?region=r", "endpoint"),
            ("s3://recordings?region=r#x", "#"),
            (
                "s3://key:hunter2@recordings?region=r",
                "AWS_SECRET_ACCESS_KEY",
            ),
        ] {
            let error = parse(url, &[]).unwrap_err();
            assert!(error.contains(names), "{url}: {error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
        let error = parse("s3://recordings", &[("AWS_ENDPOINT_URL", "x")]).unwrap_err();
        assert!(error.contains("AWS_ENDPOINT_URL"), "{error}");
    }

    #[test]
    fn a_missing_key_is_named() {
        let half = |name: &str| (name == "AWS_ACCESS_KEY_ID").then(|| "k".to_owned());
        let error = credentials(half).unwrap_err();
        assert!(error.contains("AWS_SECRET_ACCESS_KEY"), "{error}");
    }
}
