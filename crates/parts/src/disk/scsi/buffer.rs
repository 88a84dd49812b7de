//! The drive's buffer: segments that hold what was read or written, and how many of them may wait for the media.

/// A run of sectors in the buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Segment {
    first: u64,
    end: u64,
    written: bool,
    /// Higher is more recent.
    used: u64,
}

/// Sectors in a segment that wait for the media.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    sectors: u64,
    end: u64,
}

/// What a look-up found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// All of it.
    Whole(usize),
    /// The sectors before this one; there may be none where they continue a segment.
    Until(usize, u64),
    /// Nothing.
    Nothing,
}

/// All segments.
pub(super) struct Buffer {
    segments: Vec<Segment>,
    segment_sectors: u64,
    /// Segments that may hold what was written.
    written_max: usize,
    clock: u64,
    /// A place for each segment's worth of cached writes.
    cache: Vec<Waiting>,
}

impl Buffer {
    pub(super) fn new(segments: usize, segment_sectors: u64, write_segments: usize) -> Buffer {
        Buffer {
            segments: vec![Segment::default(); segments],
            segment_sectors,
            written_max: write_segments.max(1),
            clock: 0,
            cache: vec![Waiting::default(); write_segments],
        }
    }

    /// How much of a range is there.
    pub(super) fn find(&self, first: u64, end: u64) -> Found {
        let mut best = Found::Nothing;
        for (index, segment) in self.segments.iter().enumerate() {
            if segment.first <= first && end <= segment.end {
                return Found::Whole(index);
            }
            let starts_in = segment.first <= first && first < segment.end;
            let continues = !segment.written && segment.first < segment.end && segment.end == first;
            if starts_in || continues {
                best = Found::Until(index, segment.end);
            }
        }
        best
    }

    /// The first sector of a segment.
    pub(super) fn begun(&self, index: usize) -> u64 {
        self.segments[index].first
    }

    /// The segment is wanted again.
    pub(super) fn touch(&mut self, index: usize) {
        self.clock += 1;
        self.segments[index].used = self.clock;
    }

    /// A segment for sectors that will come from the media, from `first` on: the least recently used one.
    pub(super) fn begin(&mut self, first: u64) -> usize {
        let oldest = self.segments.iter().enumerate().min_by_key(|(_, segment)| segment.used);
        let index = oldest.map_or(0, |(index, _)| index);
        self.segments[index] = Segment { first, end: first, written: false, used: 0 };
        self.touch(index);
        index
    }

    /// The sectors `from..end` have come from the media. Nothing happens where the segment is not any more what they
    /// continue: it was written to, or is used for something else.
    pub(super) fn grow(&mut self, index: usize, from: u64, end: u64) {
        if self.segments[index].end == from && !self.segments[index].written {
            self.extend(index, end);
        }
    }

    /// A full segment loses its beginning.
    fn extend(&mut self, index: usize, end: u64) {
        let size = self.segment_sectors;
        let segment = &mut self.segments[index];
        segment.end = segment.end.max(end);
        segment.first = segment.first.max(segment.end.saturating_sub(size));
    }

    /// A range was written by the host: what was read of it is void, and the new data can be read.
    pub(super) fn write(&mut self, first: u64, end: u64) {
        for segment in &mut self.segments {
            if segment.first < end && first < segment.end {
                *segment = Segment::default();
            }
        }
        let continued = self.segments.iter().position(|segment| segment.written && segment.end == first);
        let index = continued.unwrap_or_else(|| self.begin_written(first));
        self.extend(index, end);
        self.touch(index);
    }

    fn begin_written(&mut self, first: u64) -> usize {
        let written = self.segments.iter().filter(|segment| segment.written).count();
        let limited = written >= self.written_max;
        let candidates = self.segments.iter().enumerate().filter(|(_, segment)| !limited || segment.written);
        let index = candidates.min_by_key(|(_, segment)| segment.used).map_or(0, |(index, _)| index);
        self.segments[index] = Segment { first, end: first, written: true, used: 0 };
        index
    }

    /// Whether a write has room to wait for the media: in the segment that it continues, or in a free one.
    pub(super) fn has_room(&self, first: u64, sectors: u64) -> bool {
        self.room(first, sectors).is_some()
    }

    fn room(&self, first: u64, sectors: u64) -> Option<usize> {
        let size = self.segment_sectors;
        let joins = |w: &Waiting| w.sectors > 0 && w.end == first && w.sectors + sectors <= size;
        let free = |w: &Waiting| w.sectors == 0 && sectors <= size;
        self.cache.iter().position(joins).or_else(|| self.cache.iter().position(free))
    }

    /// Whether it continues what waits in a segment, and would have room there if that were on the media.
    pub(super) fn will_have_room(&self, first: u64, sectors: u64) -> bool {
        sectors <= self.segment_sectors && self.cache.iter().any(|w| w.sectors > 0 && w.end == first)
    }

    /// Takes that room.
    pub(super) fn keep(&mut self, first: u64, sectors: u64) -> Option<usize> {
        let index = self.room(first, sectors)?;
        let waiting = &mut self.cache[index];
        (waiting.sectors, waiting.end) = (waiting.sectors + sectors, first + sectors);
        Some(index)
    }

    /// Sectors that wait for the media.
    pub(super) fn unwritten_sectors(&self) -> u64 {
        self.cache.iter().map(|waiting| waiting.sectors).sum()
    }

    /// These sectors are on the media.
    pub(super) fn release(&mut self, index: usize, sectors: u64) {
        self.cache[index].sectors -= sectors;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_grows_and_loses_its_beginning_when_it_is_full() {
        let mut buffer = Buffer::new(2, 100, 1);
        let index = buffer.begin(1_000);
        buffer.grow(index, 1_000, 1_090);
        assert_eq!(buffer.find(1_000, 1_090), Found::Whole(index));
        assert_eq!(buffer.find(1_080, 1_100), Found::Until(index, 1_090));
        assert_eq!(buffer.find(1_090, 1_100), Found::Until(index, 1_090), "what continues a segment is found");
        assert_eq!(buffer.find(1_091, 1_100), Found::Nothing);
        buffer.grow(index, 1_090, 1_150);
        assert_eq!(buffer.find(1_049, 1_060), Found::Nothing);
        assert_eq!(buffer.find(1_050, 1_060), Found::Whole(index));
    }

    #[test]
    fn the_least_recently_used_segment_makes_room() {
        let mut buffer = Buffer::new(2, 100, 1);
        let (a, b) = (buffer.begin(0), buffer.begin(1_000));
        buffer.grow(a, 0, 10);
        buffer.grow(b, 1_000, 1_010);
        buffer.touch(a);
        assert_eq!(buffer.begin(2_000), b);
        assert_eq!(buffer.find(0, 10), Found::Whole(a));
    }

    #[test]
    fn written_sectors_can_be_read_and_void_what_was_read_before() {
        let mut buffer = Buffer::new(3, 100, 1);
        let index = buffer.begin(0);
        buffer.grow(index, 0, 50);
        buffer.write(40, 48);
        buffer.grow(index, 50, 90);
        assert_eq!(buffer.find(60, 64), Found::Nothing, "a stream does not bring back what is void");
        assert_eq!(buffer.find(0, 8), Found::Nothing);
        assert!(matches!(buffer.find(40, 48), Found::Whole(_)));
        buffer.write(200, 208);
        assert_eq!(buffer.find(40, 48), Found::Nothing, "one segment holds what was written");
    }

    #[test]
    fn a_cached_write_needs_a_free_segment_or_one_that_it_continues() {
        let mut buffer = Buffer::new(3, 100, 1);
        assert!(!buffer.has_room(0, 101));
        let index = buffer.keep(0, 60).unwrap();
        assert!(buffer.has_room(60, 40) && !buffer.has_room(60, 41) && !buffer.has_room(61, 4));
        assert_eq!(buffer.keep(60, 40), Some(index));
        buffer.release(index, 60);
        assert!(!buffer.has_room(500, 8) && buffer.has_room(100, 60));
        assert!(buffer.will_have_room(100, 100) && !buffer.will_have_room(100, 101) && !buffer.will_have_room(500, 8));
        buffer.release(index, 40);
        assert!(buffer.has_room(500, 8));
        assert!(!Buffer::new(3, 100, 0).has_room(0, 1), "no segment for writes: none waits");
    }
}
