//! Systems out of chance: lanes, and what processes do on them.

use hopscope_kernel::During;

/// Splitmix64: enough to draw systems.
pub struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }
}

#[derive(Clone, Debug)]
pub enum Step {
    Wait(u64),
    Burst {
        lane: usize,
        priority: u8,
        address: u64,
        data: u64,
    },
    Leave {
        lane: usize,
        priority: u8,
        data: u64,
    },
    Yield {
        lane: usize,
        priority: u8,
        units: u64,
        unit: u64,
        after: u64,
        to_priority: u8,
    },
    Train {
        cars: Vec<DrawnCar>,
        count: u64,
        pitch: u64,
        delay: u64,
    },
    /// Bursts that follow one another over lanes in a row, and maybe a way at the same time.
    Convoy {
        tracks: Vec<DrawnTrack>,
        count: u64,
        beside: Option<Vec<DrawnLeg>>,
    },
    /// One way, or two at once.
    Way(Vec<Vec<DrawnLeg>>),
    Take,
    Put,
    /// So many alike things to carry, which have passed after so many legs, and may have begun.
    Give {
        count: u32,
        legs: Vec<DrawnLeg>,
        passed: Option<usize>,
        begun: Option<(usize, u64, bool)>,
    },
    /// So many alike things to carry, the first of which comes after a while and the others at a pace, until they end.
    Come {
        count: u64,
        legs: Vec<DrawnLeg>,
        passed: Option<usize>,
        first: u64,
        pitch: u64,
        end: u64,
    },
    /// So many turns on the lane of the first car, with the others in it, or while somebody else has his.
    Turns {
        cars: Vec<DrawnCar>,
        count: u64,
        during: During,
    },
    /// How much has passed, and arrived.
    Look,
    /// Until something more has arrived.
    Listen,
}

#[derive(Clone, Debug)]
pub struct DrawnCar {
    pub lane: usize,
    pub priority: u8,
    pub offset: u64,
    pub address: u64,
    pub data: u64,
}

#[derive(Clone, Debug)]
pub struct DrawnTrack {
    pub lane: usize,
    pub lead: u64,
    pub address: u64,
    pub data: u64,
}

#[derive(Clone, Debug)]
pub struct DrawnLeg {
    /// None where there is nothing but what is owed.
    pub lane: Option<usize>,
    pub address: u64,
    pub data: u64,
    pub owed: [u64; 2],
}

#[derive(Clone, Debug)]
pub struct System {
    pub clocks: Vec<Option<u64>>,
    pub programs: Vec<Vec<Step>>,
    /// Names of those who carry, and of those who carry what comes to them by one program.
    pub carriers: Vec<String>,
    pub comers: Vec<String>,
}

/// Short spans out of few values, so that much happens at the same instant.
fn span(draw: &mut Draw) -> u64 {
    [10, 10, 20, 20, 30, 40, 60, 7, 13][draw.below(9) as usize]
}

pub fn draw_system(seed: u64) -> System {
    let draw = &mut Draw(seed);
    let lanes = draw.between(1, 3) as usize;
    let clocks = (0..lanes).map(|_| [None, Some(10), Some(7)][draw.below(3) as usize]).collect::<Vec<_>>();
    let masters = draw.between(2, 6);
    let programs = (0..masters).map(|_| (0..draw.between(1, 7)).map(|_| draw_step(draw, &clocks)).collect()).collect();
    System { clocks, programs, carriers: Vec::new(), comers: Vec::new() }
}

/// Systems in which most go ways over the same few lanes, of which most have no clock.
pub fn draw_system_of_ways(seed: u64) -> System {
    let draw = &mut Draw(seed);
    let lanes = draw.between(1, 4) as usize;
    let clocks = (0..lanes).map(|_| if draw.below(6) == 0 { Some(10) } else { None }).collect::<Vec<_>>();
    let step = |draw: &mut Draw| match draw.below(8) {
        0 => draw_step(draw, &clocks),
        1 => Step::Wait(span(draw) * draw.between(1, 4)),
        _ => Step::Way(vec![draw_way(draw, lanes as u64)]),
    };
    let programs = (0..draw.between(2, 6)).map(|_| (0..draw.between(2, 9)).map(|_| step(draw)).collect()).collect();
    System { clocks, programs, carriers: Vec::new(), comers: Vec::new() }
}

/// Systems in which most send bursts over the same few lanes in a row, of which most have no clock.
pub fn draw_system_of_convoys(seed: u64) -> System {
    let draw = &mut Draw(seed);
    let lanes = draw.between(1, 5);
    let clocks = (0..lanes).map(|_| if draw.below(8) == 0 { Some(10) } else { None }).collect::<Vec<_>>();
    let step = |draw: &mut Draw| match draw.below(8) {
        0 => draw_step(draw, &clocks),
        1 => Step::Wait(span(draw) * draw.between(1, 12)),
        _ => {
            // Up or down the row, from any lane on.
            let (from, length, step) =
                (draw.below(lanes), draw.between(1, lanes.min(4)), if draw.below(2) == 0 { 1 } else { lanes - 1 });
            let track = |draw: &mut Draw, number: u64| DrawnTrack {
                lane: ((from + number * step) % lanes) as usize,
                lead: span(draw) * draw.below(3),
                address: span(draw) * draw.below(2),
                data: span(draw),
            };
            let mut tracks: Vec<DrawnTrack> = Vec::new();
            for number in 0..length {
                let track = track(draw, number);
                if tracks.iter().all(|known| known.lane != track.lane) {
                    tracks.push(track);
                }
            }
            let beside = (draw.below(4) == 0).then(|| draw_way(draw, lanes));
            Step::Convoy { tracks, count: draw.between(1, 12), beside }
        }
    };
    let programs = (0..draw.between(2, 6)).map(|_| (0..draw.between(1, 6)).map(|_| step(draw)).collect()).collect();
    System { clocks, programs, carriers: Vec::new(), comers: Vec::new() }
}

/// Systems in which most put something before carriers, who go over the same few lanes as others.
pub fn draw_system_of_carriers(seed: u64) -> System {
    let draw = &mut Draw(seed);
    let lanes = draw.between(1, 4) as usize;
    let clocks = (0..lanes).map(|_| if draw.below(8) == 0 { Some(10) } else { None }).collect::<Vec<_>>();
    // By name they come before the masters, among them, or behind them.
    let carriers =
        (0..draw.between(1, 4)).map(|n| format!("{}{n}", ["carrier", "master1x", "zcarrier"][(seed % 3) as usize]));
    let carriers: Vec<String> = carriers.collect();
    let comers = (0..draw.between(1, 7)).map(|n| format!("{}.{n}", carriers[0])).collect();
    let strangers = draw.below(3);
    let step = |draw: &mut Draw| match draw.below(12) {
        0 if strangers == 0 => vec![draw_step(draw, &clocks)],
        0 | 1 => vec![Step::Wait(span(draw) * draw.between(1, 12))],
        2 if strangers == 1 => vec![Step::Way(vec![draw_way(draw, lanes as u64)])],
        2 | 3 => vec![Step::Listen],
        4 | 5 => vec![Step::Look],
        _ => {
            let mut legs = draw_way(draw, lanes as u64);
            // What takes no time at all is nothing that somebody carries.
            legs.iter_mut().filter(|leg| leg.lane.is_none()).for_each(|leg| leg.owed[0] += 7);
            let passed = (draw.below(2) == 0).then(|| draw.between(1, legs.len() as u64) as usize);
            let many = [1, 2, 5, 40][draw.below(4) as usize];
            if draw.below(2) == 0 {
                return vec![Step::Give { count: many, legs, passed, begun: None }];
            }
            (0..many)
                .map(|_| {
                    let begun = (draw.below(9) == 0).then(|| {
                        let leg = draw.between(0, legs.len() as u64) as usize;
                        (
                            leg,
                            span(draw) * draw.between(1, 3),
                            passed.is_none_or(|passed| passed < leg || (passed == leg && draw.below(2) == 0)),
                        )
                    });
                    Step::Give { count: 1, legs: legs.clone(), passed, begun }
                })
                .collect()
        }
    };
    let come = |draw: &mut Draw| {
        let mut legs = draw_way(draw, lanes as u64);
        // What comes does not ask for a lane at once.
        legs.insert(0, DrawnLeg { lane: None, address: 0, data: 0, owed: [span(draw), 0] });
        let passed = (draw.below(2) == 0).then(|| draw.between(1, legs.len() as u64) as usize);
        let (count, first, pitch) =
            (draw.between(1, 9), span(draw) * draw.between(1, 3), span(draw) * draw.between(1, 9));
        let end = if draw.below(2) == 0 { first + pitch * count } else { draw.below(first + pitch * count) };
        Step::Come { count, legs, passed, first, pitch, end }
    };
    let end = || [Step::Wait(20_000), Step::Look];
    let program = |draw: &mut Draw, comes: bool| {
        let mut steps: Vec<Step> = Vec::new();
        for _ in 0..draw.between(2, 9) {
            match comes && draw.below(2) == 0 {
                true => steps.push(come(draw)),
                false => steps.extend(step(draw)),
            }
        }
        steps.into_iter().chain(end()).collect()
    };
    // Before those to whom it comes nobody else puts anything.
    let programs = (0..draw.between(1, 4)).map(|number| program(draw, number == 0)).collect();
    System { clocks, programs, carriers, comers }
}

/// Systems in which several want the same lane again and again, and others come now and then.
pub fn draw_system_of_turns(seed: u64) -> System {
    let draw = &mut Draw(seed);
    let lanes = draw.between(1, 3);
    // The first lane is the one that turns are taken on.
    let clock = |draw: &mut Draw, lane| [None, Some(10), Some(7)][if lane == 0 { 0 } else { draw.below(3) as usize }];
    let clocks = (0..lanes).map(|lane| clock(draw, lane)).collect::<Vec<_>>();
    let turns = |draw: &mut Draw| {
        let car = |draw: &mut Draw, lane| DrawnCar {
            lane,
            priority: 0,
            offset: draw.below(3) * 10,
            address: span(draw) * draw.below(2),
            data: span(draw),
        };
        let mut cars = vec![DrawnCar { offset: 0, data: span(draw) * draw.between(1, 12), ..car(draw, 0) }];
        for _ in 0..draw.below(3) {
            if lanes > 1 {
                let lane = draw.between(1, lanes - 1) as usize;
                cars.push(car(draw, lane));
            }
        }
        if cars.len() == 3 {
            // One after the other, where they are on one lane.
            cars[2].offset += cars[1].offset + cars[1].address + cars[1].data + clocks[cars[1].lane].unwrap_or(0);
        }
        let during = if draw.below(2) == 0 { During::OwnTurn } else { During::OthersTurn };
        Step::Turns { cars, count: draw.between(1, 30), during }
    };
    let program = |draw: &mut Draw, takes: bool| {
        let step = |draw: &mut Draw| match draw.below(4) {
            0 => Step::Wait(span(draw) * draw.between(1, 40)),
            _ if takes => turns(draw),
            _ => draw_step(draw, &clocks),
        };
        (0..draw.between(1, 6)).map(|_| step(draw)).collect()
    };
    // With a third one nobody takes turns before one of them has had all of his.
    let (takers, strangers) = (2 + draw.below(4) / 3, draw.below(3));
    let programs = (0..takers + strangers).map(|number| program(draw, number < takers)).collect();
    System { clocks, programs, carriers: Vec::new(), comers: Vec::new() }
}

fn draw_step(draw: &mut Draw, clocks: &[Option<u64>]) -> Step {
    let lane = draw.below(clocks.len() as u64) as usize;
    let priority = draw.below(3) as u8;
    match draw.below(14) {
        12 | 13 => Step::Way((0..1 + draw.below(4) / 3).map(|_| draw_way(draw, clocks.len() as u64)).collect()),
        0 | 1 => Step::Wait(span(draw) * draw.between(1, 12)),
        2 | 3 => Step::Burst { lane, priority, address: span(draw), data: span(draw) },
        4 => Step::Leave { lane, priority, data: span(draw) },
        5 => {
            let (units, unit) = (draw.between(1, 20), clocks[lane].unwrap_or(10));
            let (after, to_priority) = (draw.between(0, 8) * unit, draw.below(3) as u8);
            Step::Yield { lane, priority, units, unit, after, to_priority }
        }
        6 => Step::Put,
        7 if draw.below(3) == 0 => Step::Take,
        _ => {
            let second = (lane + 1) % clocks.len();
            let used = if second != lane && draw.below(2) == 0 { vec![lane, second] } else { vec![lane] };
            let car = |draw: &mut Draw, lane| DrawnCar {
                lane,
                priority: draw.below(3) as u8,
                offset: draw.below(4) * 10,
                address: span(draw),
                data: span(draw),
            };
            let mut cars: Vec<DrawnCar> = used.into_iter().map(|lane| car(draw, lane)).collect();
            if draw.below(3) == 0 {
                // A second burst of each period on the first lane, after the first one has ended.
                let first = &cars[0];
                let offset = first.offset + first.address + first.data + clocks[lane].unwrap_or(0) + draw.below(3) * 10;
                cars.push(DrawnCar { offset, ..car(draw, lane) });
            }
            let longest =
                cars.iter().map(|c| c.offset + c.address + c.data + clocks[c.lane].unwrap_or(0)).max().unwrap_or(0);
            let gap = if draw.below(3) == 0 { 0 } else { span(draw) };
            Step::Train { cars, count: draw.between(2, 30), pitch: longest + gap, delay: draw.below(3) * 10 }
        }
    }
}

fn draw_way(draw: &mut Draw, lanes: u64) -> Vec<DrawnLeg> {
    let leg = |draw: &mut Draw| DrawnLeg {
        lane: (draw.below(4) > 0).then(|| draw.below(lanes) as usize),
        address: span(draw) * draw.below(2),
        data: span(draw),
        owed: [span(draw) * draw.below(2), span(draw) * draw.below(2)],
    };
    (0..draw.between(1, 4)).map(|_| leg(draw)).collect()
}
