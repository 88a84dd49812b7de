//! Reads pages as a program would.

use std::collections::BTreeMap;

use serde_json::Value;

/// The values of an attribute, in order. Text of scripts and styles is left away.
pub fn attributes(html: &str, name: &str) -> Vec<String> {
    let mark = format!(" {name}=\"");
    let html = without_scripts(html);
    let values = html.split(&mark).skip(1).map(|rest| rest.split('"').next().unwrap_or_default().to_string());
    values.collect()
}

/// The page without what scripts, data and styles say.
pub fn without_scripts(html: &str) -> String {
    let mut out = String::new();
    let mut rest = html;
    while let Some(start) = ["<script", "<style"].iter().filter_map(|tag| rest.find(tag)).min() {
        let open = start + rest[start..].find('>').unwrap() + 1;
        let close = if rest[start..].starts_with("<script") { "</script>" } else { "</style>" };
        out += &rest[..open];
        rest = &rest[open + rest[open..].find(close).unwrap()..];
        out += close;
        rest = &rest[close.len()..];
    }
    out + rest
}

/// The data of a page, by the name of their element.
pub fn data(html: &str) -> BTreeMap<String, Value> {
    let pieces = html.split("<script type=\"application/json\" id=\"").skip(1);
    let read = |piece: &str| {
        let (name, rest) = piece.split_once("\">").unwrap();
        let text = rest.split("</script>").next().unwrap();
        let value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}: {text}"));
        (name.to_string(), value)
    };
    pieces.map(read).collect()
}
