//! What a replay gave: response times, beside those of the trace.

use hdrhistogram::Histogram;
use hopscope_kernel::Time;

use super::demerit::Distribution;

/// Response times within this of the trace's count as met.
const CLOSE: Time = Time::ms(1);

/// Response times of some requests.
#[derive(Clone, Debug)]
pub struct Responses {
    /// In ns, to three digits.
    pub ns: Histogram<u64>,
    sum_ps: u128,
    buckets: Distribution,
}

impl Responses {
    fn new() -> Responses {
        let ns = Histogram::new(3).expect("three digits are a valid precision");
        Responses { ns, sum_ps: 0, buckets: Distribution::new() }
    }

    fn add(&mut self, time: Time, bucket: bool) {
        // An automatically growing histogram takes any value.
        let _ = self.ns.record(time.as_ps() / 1_000);
        self.sum_ps += u128::from(time.as_ps());
        if bucket {
            self.buckets.add(time);
        }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.ns.len()
    }

    /// Their mean, ns: not rounded to three digits.
    pub fn mean_ns(&self) -> f64 {
        if self.count() == 0 { 0.0 } else { self.sum_ps as f64 / 1e3 / self.count() as f64 }
    }

    /// The response time that so many are not above, ns.
    pub fn at_ns(&self, share: f64) -> u64 {
        self.ns.value_at_quantile(share)
    }
}

/// One request's response times beside each other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Paired {
    /// Requests with both.
    pub count: u64,
    /// Of those, within a millisecond.
    pub close: u64,
    sum_ps: u128,
}

impl Paired {
    /// The mean absolute difference, ns.
    pub fn mean_absolute_error_ns(&self) -> f64 {
        self.sum_ps as f64 / 1e3 / self.count.max(1) as f64
    }

    /// The share within a millisecond.
    pub fn close_share(&self) -> f64 {
        self.close as f64 / self.count.max(1) as f64
    }
}

/// What a replay gave so far.
#[derive(Clone, Debug)]
pub struct Figures {
    /// Requests that have ended: reads, and writes.
    pub requests: [u64; 2],
    /// Bytes they moved.
    pub bytes: u64,
    /// When the last one ended.
    pub last_end: Time,
    /// Requests that were issued later than recorded, because too many were under way.
    pub held_back: u64,
    /// Response times in the simulation.
    pub simulated: Responses,
    /// Those that the trace has.
    pub recorded: Responses,
    /// Request by request.
    pub paired: Paired,
}

impl Figures {
    pub(super) fn new() -> Figures {
        Figures {
            requests: [0, 0],
            bytes: 0,
            last_end: Time::ZERO,
            held_back: 0,
            simulated: Responses::new(),
            recorded: Responses::new(),
            paired: Paired::default(),
        }
    }

    /// A request has ended.
    pub(super) fn ended(&mut self, now: Time, writes: bool, bytes: u32, response: Time, recorded: Option<Time>) {
        self.requests[usize::from(writes)] += 1;
        self.bytes += u64::from(bytes);
        self.last_end = now;
        self.simulated.add(response, recorded.is_some());
        let Some(recorded) = recorded else { return };
        self.recorded.add(recorded, true);
        let error = response.max(recorded) - response.min(recorded);
        self.paired.count += 1;
        self.paired.close += u64::from(error <= CLOSE);
        self.paired.sum_ps += u128::from(error.as_ps());
    }

    /// Requests that have ended.
    pub fn count(&self) -> u64 {
        self.requests[0] + self.requests[1]
    }

    /// Requests per second.
    pub fn iops(&self) -> f64 {
        per_second(self.count(), self.last_end)
    }

    /// Bytes per second.
    pub fn bytes_per_second(&self) -> f64 {
        per_second(self.bytes, self.last_end)
    }

    /// How far the two distributions are apart, ns, of the requests with both; nothing where the trace has none.
    pub fn demerit_ns(&self) -> Option<f64> {
        self.simulated.buckets.demerit_ns(&self.recorded.buckets)
    }
}

fn per_second(amount: u64, span: Time) -> f64 {
    if span > Time::ZERO { amount as f64 / span.as_seconds_f64() } else { 0.0 }
}
