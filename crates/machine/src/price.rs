//! What parts and machines cost, and what a dollar gets. No model reads a price.
//!
//! A part file says what the part costs: a drive, a controller. A system file says what the computer costs that these
//! are plugged into, as a whole: its processor, memory and bridges have no price of their own.

use hopscope_files::quantity::digits;
use serde_json::{Value as Json, json};

use crate::blueprint::Blueprint;

/// What a machine costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachinePrice {
    /// Cents of the parts that have a price of their own.
    pub parts_cents: u64,
    /// Cents of the computer, which its system gives as a whole.
    pub computer_cents: Option<u64>,
    /// Hardware without a price of its own.
    pub without: Vec<String>,
}

/// What a dollar gets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PerDollar {
    /// Megabytes a second.
    pub mb_per_s: f64,
    /// Requests a second.
    pub iops: f64,
}

impl MachinePrice {
    /// All that has a price, in dollars.
    pub fn total(&self) -> f64 {
        dollars(self.parts_cents.saturating_add(self.computer_cents.unwrap_or(0)))
    }

    /// The parts that have a price of their own, in dollars.
    pub fn parts(&self) -> f64 {
        dollars(self.parts_cents)
    }

    /// What a dollar of the whole gets, and one of the parts with prices of their own.
    pub fn per_dollar(&self, bytes_per_second: f64, iops: f64) -> [Option<PerDollar>; 2] {
        [self.total(), self.parts()].map(|price| {
            let mb_per_s = bytes_per_second / 1e6 / price;
            (price > 0.0).then_some(PerDollar { mb_per_s, iops: iops / price })
        })
    }

    /// As JSON.
    pub fn json_of_machine(&self) -> Json {
        json!({
            "total": self.total(),
            "computer": self.computer_cents.map(dollars),
            "parts": self.parts(),
            "parts_without": self.without,
        })
    }

    /// The same with what a dollar gets of a run.
    pub fn json(&self, bytes_per_second: f64, iops: f64) -> Json {
        let [whole, parts] = self.per_dollar(bytes_per_second, iops);
        let mut all = self.json_of_machine();
        all["mb_per_s_per_usd"] = json!(whole.map(|per| per.mb_per_s));
        all["iops_per_usd"] = json!(whole.map(|per| per.iops));
        all["of_parts"] = json!({
            "mb_per_s_per_usd": parts.map(|per| per.mb_per_s),
            "iops_per_usd": parts.map(|per| per.iops),
        });
        all
    }

    /// What is known of it, in words.
    pub fn words_of_machine(&self) -> String {
        let computer = self.computer_cents.map_or(String::new(), |cents| {
            format!("; {:.2} USD with the computer", dollars(self.parts_cents.saturating_add(cents)))
        });
        let without = match &self.without[..] {
            [] => String::new(),
            names => format!("; without a price of their own: {}", names.join(", ")),
        };
        format!("price: {:.2} USD for its parts{computer}{without}", self.parts())
    }

    /// The same in words, a sentence each.
    pub fn words(&self, bytes_per_second: f64, iops: f64) -> Vec<String> {
        let [whole, parts] = self.per_dollar(bytes_per_second, iops);
        let per = |per: Option<PerDollar>| {
            per.map_or(String::new(), |per| {
                format!(": {:.4} MB/s and {:.4} requests a second a dollar", per.mb_per_s, per.iops)
            })
        };
        let mut words = Vec::new();
        if self.computer_cents.is_some() {
            words.push(format!("The machine costs {:.2} USD{}.", self.total(), per(whole)));
        }
        if self.parts_cents > 0 {
            words.push(format!("Its parts with prices of their own cost {:.2} USD{}.", self.parts(), per(parts)));
        }
        words
    }
}

/// What a dollar gets, in digits: often little, so one decimal more than other figures have.
pub fn digits_per_dollar(value: f64) -> String {
    if value < 1.0 { format!("{value:.4}") } else { digits(value) }
}

fn dollars(cents: u64) -> f64 {
    cents as f64 / 100.0
}

impl Blueprint {
    /// What it costs, where anything is known of that.
    pub fn price(&self) -> Option<MachinePrice> {
        let priced = self.parts.iter().filter_map(|part| part.price.as_ref()).map(|price| price.cents);
        let computer_cents = self.computer.as_ref().map(|price| price.cents);
        if priced.clone().count() == 0 && computer_cents.is_none() {
            return None;
        }
        let without = self.parts.iter().filter(|part| !part.kind.is_software() && part.price.is_none());
        Some(MachinePrice {
            parts_cents: priced.fold(0, u64::saturating_add),
            computer_cents,
            without: without.map(|part| part.name.clone()).collect(),
        })
    }
}
