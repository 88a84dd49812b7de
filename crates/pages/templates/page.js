'use strict';
// Everything is on the page without this script. It adds reading by pointer and keyboard, and zooming along time.
(() => {
  const SVG = document.documentElement.querySelector('svg').namespaceURI;
  const tip = document.getElementById('tip');
  // Of a drawing for wide and one for narrow pages, the one that is shown.
  const shownIn = (figure) => [...figure.querySelectorAll('.drawing > svg')].find((svg) => getComputedStyle(svg).display !== 'none');
  const marksOf = (figure) => [...shownIn(figure).querySelectorAll('.mark:not(.gone)')];

  // What a mark says moves from its title, which browsers show late, to a tip that is shown at once.
  function prepare(figure) {
    for (const mark of figure.querySelectorAll('.mark')) {
      const title = mark.querySelector(':scope > title');
      if (title) {
        mark.dataset.tip = title.textContent;
        title.remove();
      }
    }
  }

  function show(mark, x, y) {
    tip.textContent = mark.dataset.tip;
    tip.hidden = false;
    light(mark);
    const box = tip.getBoundingClientRect();
    const width = document.documentElement.clientWidth;
    const left = Math.max(8, Math.min(x + 14, width - box.width - 8));
    const top = y - box.height - 12 < 0 ? y + 18 : y - box.height - 12;
    tip.style.left = `${left + window.scrollX}px`;
    tip.style.top = `${top + window.scrollY}px`;
  }

  // Whatever belongs to the same request is lit, the rest steps back.
  function light(mark) {
    const request = mark && mark.parentElement.dataset.request;
    const svg = mark && mark.closest('svg');
    for (const other of document.querySelectorAll('svg.lighting')) if (other !== svg || !request) other.classList.remove('lighting');
    if (!request) return;
    svg.classList.add('lighting');
    for (const single of svg.querySelectorAll('.single')) single.classList.toggle('lit', single.dataset.request === request);
  }

  function hide() {
    tip.hidden = true;
    light(null);
    for (const mark of document.querySelectorAll('.mark.at')) mark.classList.remove('at');
  }

  function select(mark) {
    hide();
    mark.classList.add('at');
    const box = mark.getBoundingClientRect();
    if (box.top < 0 || box.bottom > window.innerHeight) mark.scrollIntoView({ block: 'nearest' });
    const at = mark.getBoundingClientRect();
    show(mark, at.left + at.width / 2, at.top);
  }

  // One stop of the tab key a figure; the next and the previous mark from there.
  function step(figure, by) {
    const marks = marksOf(figure);
    if (!marks.length) return;
    const now = marks.findIndex((mark) => mark.classList.contains('at'));
    const next = now < 0 ? (by > 0 ? 0 : marks.length - 1) : (now + by + marks.length) % marks.length;
    select(marks[next]);
  }

  function leadTo(mark) {
    const goal = mark && document.getElementById(mark.closest('figure').id.replace(/map$/, `hop-${mark.dataset.hop}`));
    if (!goal) return;
    const one = goal.closest('details.one');
    if (one) one.open = true;
    // Where it stands beside the map it is in view already.
    (one || goal).scrollIntoView({ block: 'nearest' });
  }

  function readable(figure) {
    prepare(figure);
    const drawing = figure.querySelector('.drawing');
    const title = figure.querySelector('figcaption strong').textContent;
    const keys = figure.classList.contains('timeline') ? 'N and P read the phases' : 'arrow keys read the figures';
    drawing.tabIndex = 0;
    drawing.setAttribute('role', 'group');
    drawing.setAttribute('aria-label', `${title}; ${keys}`);
    drawing.addEventListener('pointermove', (event) => {
      const mark = event.target.closest('.mark');
      if (mark && !drawing.classList.contains('held')) show(mark, event.clientX, event.clientY);
      else hide();
    });
    // A hop of the map leads to its account.
    drawing.addEventListener('click', (event) => leadTo(event.target.closest('.mark[data-hop]')));
    drawing.addEventListener('pointerleave', hide);
    drawing.addEventListener('blur', hide);
    drawing.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const timeline = figure.classList.contains('timeline');
      const by = { n: 1, p: -1, ...(timeline ? {} : { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 }) };
      if (event.key in by) step(figure, by[event.key]);
      else if (event.key === 'Escape') hide();
      else if (event.key === 'Enter') leadTo(figure.querySelector('.mark.at[data-hop]'));
      else return;
      event.preventDefault();
    });
  }

  const put = (parent, name, attributes, text = '') => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.textContent = text;
    parent.append(element);
    return element;
  };

  // The wheel belongs to the page until it rests: only a turn that begins over a timeline zooms it.
  const REST_MS = 350;
  let wheeled = -Infinity;
  document.addEventListener('wheel', (event) => {
    if (!event.target.closest || !event.target.closest('.timeline.live .drawing')) wheeled = event.timeStamp;
  }, { passive: true });

  const digits = (ns) => {
    const size = Math.abs(ns);
    if (size === 0) return '0';
    return ns.toFixed(size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3).replace('-', '\u2212');
  };
  const plain = (value) => String(Math.round(value * 1e6) / 1e6).replace('-', '\u2212');

  function stepOf(span, count) {
    const power = 10 ** Math.floor(Math.log10(span / count));
    return [1, 2, 5, 10].map((round) => round * power).find((size) => size >= (span / count) * (1 - 1e-9));
  }

  // A drawing of which a stretch of time is in view. What is drawn of it is up to those below.
  class Zoomed {
    constructor(figure) {
      this.figure = figure;
      this.drawing = figure.querySelector('.drawing');
      this.svg = this.drawing.querySelector('svg');
      this.data = JSON.parse(document.getElementById(`${figure.id}-data`).textContent);
      this.height = this.svg.viewBox.baseVal.height;
      this.focus = { from: this.data.focus_ps[0], until: this.data.focus_ps[1] };
      this.all = { from: this.data.from_ps, until: this.data.until_ps };
      this.view = { ...this.focus };
      this.axes = [...this.svg.querySelectorAll('.time-axis')];
      // Names of rows; where there is no room for one, its end is left away.
      this.names = [...this.svg.querySelectorAll('text.strong')].map((text) => ({ text, whole: text.textContent }));
    }

    live() {
      this.figure.classList.add('live');
      this.controls();
      this.listen();
      this.layout();
      new ResizeObserver(() => this.layout()).observe(this.drawing);
      window.addEventListener('beforeprint', () => this.layout(1080));
      window.addEventListener('afterprint', () => this.layout());
    }

    controls() {
      const bar = document.createElement('div');
      bar.className = 'controls';
      bar.setAttribute('role', 'toolbar');
      bar.setAttribute('aria-label', 'Zoom');
      const actions = [
        ['Zoom in', '+'], ['Zoom out', '-'], ['Earlier', 'ArrowLeft'], ['Later', 'ArrowRight'], [this.data.focus, '0'],
        ['Everything', 'a'],
      ];
      this.buttons = {};
      for (const [name, key] of actions) {
        const button = document.createElement('button');
        button.type = 'button';
        button.textContent = name;
        button.addEventListener('click', () => this.act(key));
        bar.append(button);
        this.buttons[key] = button;
      }
      this.shown = document.createElement('output');
      this.shown.setAttribute('aria-live', 'polite');
      bar.append(this.shown);
      this.drawing.before(bar);
      const hint = document.createElement('p');
      hint.className = 'hint';
      hint.textContent = `Wheel or + and \u2212 zoom, dragging or arrow keys move, 0 is ${this.data.focus.toLowerCase()}, A everything, N and P read what is drawn.`;
      this.drawing.after(hint);
    }

    listen() {
      this.drawing.addEventListener('keydown', (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        if (this.act(event.key)) event.preventDefault();
      });
      this.drawing.addEventListener('wheel', (event) => {
        if (event.timeStamp - wheeled < REST_MS && !event.ctrlKey) {
          wheeled = event.timeStamp;
          return;
        }
        const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
        const lines = event.deltaMode === 0 ? 1 : 16;
        const before = { ...this.view };
        if (sideways) this.move((event.deltaX * lines) / this.width);
        else this.zoom(2 ** (Math.max(-120, Math.min(120, event.deltaY * lines)) / 200), this.timeAt(event.clientX));
        // At either end the page scrolls again.
        if (before.from !== this.view.from || before.until !== this.view.until) event.preventDefault();
        hide();
      }, { passive: false });
      this.drawing.addEventListener('pointerdown', (event) => {
        if (event.button !== 0) return;
        this.held = { x: event.clientX, view: { ...this.view } };
        // An event that a script made has no pointer to capture.
        if (event.isTrusted) this.drawing.setPointerCapture(event.pointerId);
      });
      this.drawing.addEventListener('pointermove', (event) => {
        if (!this.held || Math.abs(event.clientX - this.held.x) < 3) return;
        this.drawing.classList.add('held');
        const { from, until } = this.held.view;
        this.view = { from, until };
        this.move((this.held.x - event.clientX) / this.width);
      });
      for (const end of ['pointerup', 'pointercancel']) {
        this.drawing.addEventListener(end, () => {
          this.held = null;
          this.drawing.classList.remove('held');
        });
      }
    }

    act(key) {
      const middle = (this.view.from + this.view.until) / 2;
      switch (key) {
        case '+': case '=': this.zoom(0.5, middle); break;
        case '-': case '\u2212': case '_': this.zoom(2, middle); break;
        case 'ArrowLeft': this.move(-0.2); break;
        case 'ArrowRight': this.move(0.2); break;
        case '0': this.look(this.focus); break;
        case 'a': case 'A': this.look(this.all); break;
        default: return false;
      }
      return true;
    }

    timeAt(clientX) {
      const box = this.svg.getBoundingClientRect();
      return this.view.from + ((clientX - box.left) / box.width) * (this.view.until - this.view.from);
    }

    zoom(by, centre) {
      const span = this.view.until - this.view.from;
      const next = Math.max(this.data.clock_ps, Math.min(this.all.until - this.all.from, span * by));
      const from = centre - ((centre - this.view.from) / span) * next;
      this.look({ from, until: from + next });
    }

    move(share) {
      const by = share * (this.view.until - this.view.from);
      this.look({ from: this.view.from + by, until: this.view.until + by });
    }

    // Within what there is.
    look({ from, until }) {
      const span = Math.min(until - from, this.all.until - this.all.from);
      const begin = Math.max(this.all.from, Math.min(from, this.all.until - span));
      this.view = { from: begin, until: begin + span };
      this.layout();
    }

    room() {
      return Math.max(280, this.drawing.clientWidth);
    }

    // The drawing takes this width; where a time lies in it.
    scaled(width) {
      this.width = width;
      const { from, until } = this.view;
      this.svg.setAttribute('viewBox', `0 0 ${width} ${this.height}`);
      this.svg.setAttribute('width', width);
      for (const { text, whole } of this.names) {
        const room = Math.floor(width / 8.4);
        text.textContent = whole.length > room ? `${whole.slice(0, room - 1)}\u2026` : whole;
      }
      return (ps) => ((ps - from) / (until - from)) * width;
    }

    ticks(axis, x, width) {
      const unit = +axis.dataset.unit;
      const y = +axis.dataset.y;
      const [from, until] = [this.view.from / unit, this.view.until / unit];
      const size = stepOf(until - from, Math.max(3, Math.floor(width / 120)));
      const parts = [];
      const name = axis.nextElementSibling;
      const end = width - name.textContent.length * 7 - 14;
      for (let k = Math.ceil(from / size); k * size <= until; k += 1) {
        const at = x(k * size * unit);
        const line = document.createElementNS(SVG, 'path');
        line.setAttribute('class', 'axis');
        line.setAttribute('d', `M${at} ${y}v5`);
        parts.push(line);
        if (at >= 0 && at < end - 16) {
          const text = document.createElementNS(SVG, 'text');
          text.textContent = plain(k * size);
          text.setAttribute('class', 'tick middle');
          text.setAttribute('x', Math.max(at, text.textContent.length * 4));
          text.setAttribute('y', y + 18);
          parts.push(text);
        }
      }
      axis.replaceChildren(...parts);
      axis.previousElementSibling.setAttribute('d', `M0 ${y}H${width}`);
      name.setAttribute('x', width);
    }
  }

  // Phases that are all on the page as marks, laid out again for what is in view.
  class Timeline extends Zoomed {
    constructor(figure) {
      super(figure);
      // Text is measured once: zooming moves it, and does not change it.
      const ink = document.createElement('canvas').getContext('2d');
      const measure = (text) => {
        ink.font = getComputedStyle(text).font;
        return ink.measureText(text.textContent).width;
      };
      this.blocks = [...this.svg.querySelectorAll('.lane')].map((lane) => [...lane.querySelectorAll('.block')].map((g) => {
        const [name, length, above] = ['.name', '.length', '.above'].map((part) => g.querySelector(part));
        return {
          g, name, length, above, rects: g.querySelectorAll('rect'), from: +g.dataset.from, until: +g.dataset.until,
          nameWidth: measure(name), lengthWidth: measure(length), y: g.querySelector('rect').y.baseVal.value,
        };
      }));
      this.spans = [...this.svg.querySelectorAll('.span')].map((g) => {
        const path = g.querySelector('path');
        const y = +path.getAttribute('d').match(/^M[-\d.]+ ([-\d.]+)/)[1];
        const text = g.querySelector('text');
        return { path, text, y, width: measure(text), from: +g.dataset.from, until: +g.dataset.until };
      });
      this.live();
    }

    layout(width = this.room()) {
      const x = this.scaled(width);
      const { from, until } = this.view;
      for (const lane of this.blocks) {
        let labelled = -Infinity;
        for (const block of lane) {
          const [left, right] = [Math.max(x(block.from), -4), Math.min(x(block.until), width + 4)];
          const seen = right > 0 && left < width;
          block.g.classList.toggle('gone', !seen);
          if (!seen) continue;
          const size = Math.max(0, right - left);
          for (const rect of block.rects) {
            rect.setAttribute('x', left);
            rect.setAttribute('width', size);
          }
          const middle = (Math.max(left, 0) + Math.min(right, width)) / 2;
          const room = Math.min(right, width) - Math.max(left, 0) - 6;
          for (const [text, needs] of [[block.name, block.nameWidth], [block.length, block.lengthWidth]]) {
            text.setAttribute('x', middle);
            text.classList.toggle('gone', needs > room);
          }
          if (block.above) {
            const half = block.nameWidth / 2;
            const centre = Math.min(Math.max(middle, half), width - half);
            const wanted = block.nameWidth > room && centre - half > labelled;
            block.above.classList.toggle('gone', !wanted);
            block.above.setAttribute('transform', `translate(${middle} ${block.y})`);
            block.above.querySelector('text').setAttribute('x', centre - middle);
            if (wanted) labelled = centre + half + 6;
          }
        }
      }
      for (const span of this.spans) {
        const [left, right] = [x(span.from), x(span.until)];
        const seen = right > 0 && left < width;
        span.path.classList.toggle('gone', !seen);
        span.text.classList.toggle('gone', !seen);
        span.path.setAttribute('d', `M${left} ${span.y}V${span.y + 6}H${right}V${span.y}`);
        const middle = (Math.max(left, 0) + Math.min(right, width)) / 2;
        span.text.setAttribute('x', Math.max(span.width / 2, Math.min(middle, width - span.width / 2)));
      }
      // Two names under one lane never lie on each other: the shorter span gives way.
      const named = this.spans.filter((span) => !span.text.classList.contains('gone'))
        .sort((a, b) => b.until - b.from - (a.until - a.from));
      named.forEach((span, index) => {
        const at = +span.text.getAttribute('x');
        const meets = named.slice(0, index).some((other) => other.y === span.y && !other.text.classList.contains('gone')
          && Math.abs(at - other.text.getAttribute('x')) < (span.width + other.width) / 2 + 4);
        span.text.classList.toggle('gone', meets);
      });
      for (const axis of this.axes) this.ticks(axis, x, width);
      this.shown.textContent = `${digits(from / 1e3)} to ${digits(until / 1e3)} ns: ${digits((until - from) / 1e3)} ns`;
    }

    seen() {
      const blocks = this.blocks.flat().filter((block) => !block.g.classList.contains('gone'));
      return { widest: Math.max(...blocks.map((block) => block.rects[0].width.baseVal.value)), blocks: blocks.length };
    }
  }

  // Steps of time, coarser ones made of finer ones, and what happened one by one where so little is in view that it
  // can be told apart.
  class Levels extends Zoomed {
    constructor(figure) {
      super(figure);
      this.rows = this.data.rows.map((row, index) => ({
        ...row, levels: [row], g: this.svg.querySelectorAll('.field')[index],
        most: this.svg.querySelectorAll('.most')[index], base: this.svg.querySelectorAll('.base')[index],
      }));
      this.view = { ...this.all };
      for (const row of this.rows) {
        while (row.levels.at(-1).sums[0].length > 64) row.levels.push(coarser(row.levels.at(-1)));
      }
      this.listed = Math.max(...this.rows.map((row) => row.listed_until_ps));
      // What a step or a phase says is on the page only once somebody comes to read it.
      this.read = false;
      const reader = () => {
        if (this.read) return;
        this.read = true;
        this.layout();
      };
      for (const coming of ['pointerenter', 'focus', 'keydown']) this.drawing.addEventListener(coming, reader, { capture: true });
      this.live();
    }

    // What happened one by one, in order, made when it is first in view.
    get singles() {
      const singles = [];
      let [from, last] = [0, 0];
      for (const [delta, length, word, rows, lane, address, request, ...parts] of this.data.singles) {
        from += delta;
        last = Math.max(last, from + length);
        singles.push({
          from, until: from + length, last, word: this.data.words[word], rows: this.data.row_sets[rows], lane, address, request, parts,
        });
      }
      Object.defineProperty(this, 'singles', { value: singles });
      return singles;
    }

    // The rows of which something is listed one by one.
    get owned() {
      const owned = new Set(this.singles.flatMap((one) => one.rows));
      Object.defineProperty(this, 'owned', { value: owned });
      return owned;
    }

    layout(width = this.room()) {
      const x = this.scaled(width);
      const { from, until } = this.view;
      // What was lit, or read, is drawn anew.
      hide();
      const seen = until <= this.listed ? this.seenSingles() : [];
      this.marks = 0;
      let inSteps = 0;
      this.rows.forEach((row, index) => {
        row.g.replaceChildren();
        row.base.setAttribute('d', `M0 ${row.y + row.height}H${width}`);
        row.most.setAttribute('x', width);
        // One by one where all of it is listed, and each has some pixels.
        const mine = until <= row.listed_until_ps && this.owned.has(index) ? seen.filter((one) => one.rows.includes(index)) : null;
        if (mine && mine.length <= width / 4) {
          this.single(row, index, mine, x, width);
        } else {
          inSteps += row.measure === 'rate' ? 0 : 1;
          this.steps(row, x, width);
        }
      });
      const [unit, name] = unitOf(until - from);
      for (const axis of this.axes) {
        axis.dataset.unit = unit;
        axis.nextElementSibling.textContent = name;
        this.ticks(axis, x, width);
      }
      // Where there is no room for both, the name of a row stays.
      for (const { most } of this.rows) {
        const letters = most.previousElementSibling.textContent.length * 8.2 + most.textContent.length * 7;
        if (letters + 8 > width) most.textContent = '';
      }
      this.oneByOne = inSteps === 0;
      const some = inSteps < this.rows.filter((row) => row.measure !== 'rate').length ? ', some one by one' : '';
      const how = this.oneByOne ? 'one by one' : `in steps of ${time(this.level(this.rows[0], width).step_ps)}${some}`;
      this.shown.textContent = `${time(from)} to ${time(until)}: ${time(until - from)}, ${how}`;
    }

    // What is in view of what is listed.
    seenSingles() {
      const { from, until } = this.view;
      let [low, high] = [0, this.singles.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this.singles[middle].last > from) high = middle;
        else low = middle + 1;
      }
      const seen = [];
      for (let at = low; at < this.singles.length && this.singles[at].from < until; at += 1) {
        if (this.singles[at].until >= from) seen.push(this.singles[at]);
      }
      return seen;
    }

    // The finest level whose steps can be seen.
    level(row, width) {
      const px = (level) => (level.step_ps / (this.view.until - this.view.from)) * width;
      return row.levels.find((level) => px(level) >= 3) || row.levels.at(-1);
    }

    steps(row, x, width) {
      const level = this.level(row, width);
      const count = level.sums[0].length;
      const first = Math.max(0, Math.floor((this.view.from - row.origin_ps) / level.step_ps));
      const behind = Math.min(count, Math.ceil((this.view.until - row.origin_ps) / level.step_ps));
      const amounts = [];
      const begins = (index) => row.origin_ps + (first + index) * level.step_ps;
      // The last step ends with the capture.
      const ends = (index) => Math.min(begins(index) + level.step_ps, Math.max(this.all.until, begins(index) + 1));
      for (let index = 0; index < behind - first; index += 1) {
        const scale = (level.scale * level.step_ps) / (ends(index) - begins(index));
        amounts.push(level.sums.map((sums) => sums[first + index] * scale));
      }
      const edges = (index) => [Math.max(0, x(begins(index))), Math.min(width, x(ends(index)))];
      const whole = (of) => of.reduce((all, amount) => all + amount, 0);
      const most = row.measure === 'share' ? 1 : Math.max(...amounts.map(whole), 0) || 1;
      row.most.textContent = scaleName(row.measure, most);
      const paths = row.kinds.map(() => '');
      amounts.forEach((of, index) => {
        const [left, right] = edges(index);
        let y = row.y + row.height;
        of.forEach((amount, kind) => {
          const top = y - (Math.min(amount, most) / most) * row.height;
          if (amount > 0) paths[kind] += `M${left.toFixed(1)} ${y.toFixed(1)}V${top.toFixed(1)}H${right.toFixed(1)}V${y.toFixed(1)}Z`;
          y = top;
        });
      });
      row.kinds.forEach(([, cls], kind) => {
        if (paths[kind]) this.filled(row.g, 'path', cls, 'level', { d: paths[kind] });
      });
      if (!this.read) return;
      amounts.forEach((of, index) => {
        const [left, right] = edges(index);
        const said = row.kinds.map(([name], kind) => [of[kind], name]).filter(([amount]) => amount > 0)
          .map(([amount, name]) => `${name} ${figure(row.measure, amount)}`);
        const words = said.length ? said.join(', ') : 'nothing';
        this.mark(row.g, `${row.name}, ${time(begins(index))} to ${time(ends(index))}: ${words}`, [left, row.y, right - left, row.height]);
      });
    }

    single(row, index, mine, x, width) {
      row.most.textContent = '';
      const lanes = mine.reduce((most, one) => Math.max(most, one.lane), 0) + 1;
      const height = row.height / lanes;
      const thin = height < 7 ? 'thin' : '';
      for (const one of mine) {
        const g = put(row.g, 'g', one.request ? { class: 'single', 'data-request': one.request } : { class: 'single' });
        const y = row.y + one.lane * height;
        const [left, right] = [Math.max(0, x(one.from)), Math.min(width, x(one.until))];
        const paths = new Map();
        for (const [kind, begin, end] of this.visible(one, x, width)) {
          const box = `M${begin.toFixed(1)} ${y + 0.5}h${Math.max(0.7, end - begin).toFixed(1)}v${Math.max(1, height - 1)}H${begin.toFixed(1)}Z`;
          paths.set(kind, (paths.get(kind) || '') + box);
        }
        for (const [kind, d] of paths) this.filled(g, 'path', row.kinds[kind][1], thin, { d });
        const name = one.word.split(',')[0];
        const length = time(one.until - one.from);
        const fits = (words) => words.length * 7 + 8 < right - left;
        const middle = { class: 'in middle', x: (left + right) / 2 };
        if (height >= 30 && fits(name) && fits(length)) {
          put(g, 'text', { ...middle, y: y + height / 2 - 3 }, name);
          put(g, 'text', { ...middle, y: y + height / 2 + 12 }, length);
        } else if (height >= 15 && fits(name)) {
          put(g, 'text', { ...middle, y: y + height / 2 + 4.5 }, name);
        }
        if (!this.read) continue;
        const said = new Map();
        for (let part = 0; part < one.parts.length; part += 2) {
          const kind = row.kinds[one.parts[part]][0];
          said.set(kind, (said.get(kind) || 0) + one.parts[part + 1]);
        }
        const address = one.address === null ? '' : ` at 0x${one.address}`;
        const owner = one.request ? `, request ${one.request}` : '';
        this.mark(g, `${one.word}${address}${owner}; from ${time(one.from)}, ${time(one.until - one.from)}: ${inShort(said)}`, [left, y, Math.max(1, right - left), height]);
      }
    }

    // The parts of something that can be told apart: those that share half a pixel are one, of the kind that took most.
    visible(one, x, width) {
      const shown = [];
      // What shares half a pixel, until it is full or nothing follows: how much there is of each kind.
      let group = null;
      const close = () => {
        const [most] = [...group.of].reduce((a, b) => (b[1] > a[1] ? b : a));
        const before = shown.at(-1);
        if (before && before[0] === most) before[2] = group.end;
        else shown.push([most, group.begin, group.end]);
        group = null;
      };
      let at = one.from;
      for (let part = 0; part < one.parts.length; part += 2) {
        const [kind, length] = [one.parts[part], one.parts[part + 1]];
        const [begin, end] = [Math.max(0, x(at)), Math.min(width, x(at + length))];
        at += length;
        if (end <= begin) continue;
        group = group || { begin, of: new Map() };
        group.of.set(kind, (group.of.get(kind) || 0) + end - begin);
        group.end = end;
        if (end - group.begin >= 0.5) close();
      }
      if (group) close();
      return shown;
    }

    // A shape in the colour of a class of use, and its pattern over it.
    filled(parent, name, cls, more, shape) {
      put(parent, name, { class: `${cls} ${more}`.trim(), ...shape });
      const pattern = patternOf(cls);
      if (pattern) put(parent, name, { class: 'over', fill: `url(#hatch-${pattern})`, ...shape });
    }

    mark(parent, tipText, [x, y, width, height]) {
      const g = put(parent, 'g', { class: 'mark slice' });
      g.dataset.tip = tipText;
      put(g, 'rect', { class: 'hit', x, y, width: Math.max(0, width), height });
      this.marks += 1;
    }

    seen() {
      return { marks: this.marks, oneByOne: this.oneByOne };
    }
  }

  const HATCHED = ['waiting', 'nothing', 'width'];
  const patternOf = (cls) => (cls.endsWith(' waits') ? 'waiting' : HATCHED.find((name) => name === cls));

  // What something was made of: all of it, or the most of it.
  function inShort(said) {
    const all = [...said];
    const shown = all.length <= 8 ? all : all.sort((a, b) => b[1] - a[1]).slice(0, 7);
    const words = shown.map(([name, length]) => `${name} ${time(length)}`);
    const rest = all.slice(shown.length).reduce((sum, [, length]) => sum + length, 0);
    return words.concat(rest > 0 ? [`${all.length - shown.length} more ${time(rest)}`] : []).join(', ');
  }

  // Two steps become one. Shares and rates are of the step, so that they are their mean.
  function coarser(level) {
    const halved = (sums) => {
      const next = [];
      for (let at = 0; at < sums.length; at += 2) next.push(sums[at] + (sums[at + 1] || 0));
      return next;
    };
    return { step_ps: level.step_ps * 2, scale: level.scale / 2, sums: level.sums.map(halved) };
  }

  // How many picoseconds a unit has that suits a span.
  function unitOf(span) {
    return [[1e12, 's'], [1e9, 'ms'], [1e6, '\u00b5s'], [1e3, 'ns']].find(([unit]) => span >= 2 * unit) || [1e3, 'ns'];
  }

  function time(ps) {
    const [unit, name] = unitOf(Math.abs(ps) / 0.5);
    return `${digits(ps / unit)} ${name}`;
  }

  function rate(bytesPerSecond) {
    // As the drawing without this script has it.
    const [, unit, name] = [[1e10, 1e9, 'GB/s'], [1e5, 1e6, 'MB/s'], [0, 1e3, 'kB/s']].find(([from]) => bytesPerSecond >= from);
    return `${digits(bytesPerSecond / unit)} ${name}`;
  }

  function figure(measure, amount) {
    if (measure === 'share') return `${(100 * amount).toFixed(1)} %`;
    return measure === 'rate' ? rate(amount) : digits(amount);
  }

  function scaleName(measure, most) {
    if (measure === 'share') return 'up to 100 % of the time';
    return measure === 'rate' ? `up to ${rate(most)}` : `up to ${digits(most)} at once`;
  }

  // A figure as a file of its own, as it is shown, with its title, its signs and its colours.
  function svgOf(figure) {
    const shown = shownIn(figure);
    const { width, height } = shown.viewBox.baseVal;
    const root = document.createElementNS(SVG, 'svg');
    const look = getComputedStyle(document.documentElement);
    const style = document.getElementById('figure-style').textContent.replace(/var\((--[\w-]+)\)/g, (_, name) => look.getPropertyValue(name).trim());
    put(root, 'title', {}, figure.querySelector('figcaption strong').textContent);
    put(root, 'style', {}, `${style}\n.gone { display: none; }`);
    root.append(document.querySelector('.patterns defs').cloneNode(true));
    put(root, 'rect', { class: 'ground', width: '100%', height: '100%' });
    put(root, 'text', { class: 'heading', x: 14, y: 30 }, figure.querySelector('figcaption strong').textContent);
    const body = put(root, 'g', { transform: 'translate(14 44)' });
    for (const child of shown.children) if (!['title', 'desc'].includes(child.localName)) body.append(child.cloneNode(true));
    const section = figure.closest('section');
    let [x, y] = [14, height + 60];
    for (const key of section.querySelectorAll('.legend li')) {
      const room = 36 + key.textContent.length * 7.5 + 18;
      if (x > 14 && x + room > width) [x, y] = [14, y + 22];
      const sign = put(root, 'g', { transform: `translate(${x} ${y})` });
      for (const part of key.querySelector('svg').children) sign.append(part.cloneNode(true));
      put(sign, 'text', { class: 'small', x: 36, y: 12 }, key.textContent.trim());
      x += room;
    }
    for (const [name, value] of [['viewBox', `0 0 ${width + 28} ${y + 34}`], ['width', width + 28], ['height', y + 34]]) root.setAttribute(name, value);
    return new XMLSerializer().serializeToString(root);
  }

  // The table of a figure, cell by cell.
  function csvOf(figure) {
    const link = figure.querySelector('.behind a');
    const table = link ? document.getElementById(link.hash.slice(1)) : figure.querySelector('table');
    const field = (cell) => {
      const text = [...cell.childNodes].map((node) => node.textContent.trim()).filter(Boolean).join('; ');
      return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    return [...table.rows].map((row) => [...row.cells].map(field).join(',') + '\n').join('');
  }

  function takeable(figure) {
    const line = document.createElement('p');
    line.className = 'take';
    line.append('Take it along: ');
    for (const [name, type, make] of [['SVG', 'image/svg+xml', svgOf], ['CSV', 'text/csv', csvOf]]) {
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = name;
      button.addEventListener('click', () => {
        const file = document.createElement('a');
        file.href = URL.createObjectURL(new Blob([make(figure)], { type }));
        file.download = `${figure.id}.${name.toLowerCase()}`;
        file.click();
        setTimeout(() => URL.revokeObjectURL(file.href), 1000);
      });
      line.append(button, ' ');
    }
    figure.append(line);
  }

  const timelines = [];
  for (const figure of document.querySelectorAll('figure')) {
    readable(figure);
    takeable(figure);
    if (figure.classList.contains('levels')) timelines.push(new Levels(figure));
    else if (figure.classList.contains('timeline')) timelines.push(new Timeline(figure));
  }
  // A table that fits needs no stop of the tab key.
  const tables = [...document.querySelectorAll('.scroll')];
  const stops = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
      else target.removeAttribute('tabindex');
    }
  });
  for (const table of tables) stops.observe(table);

  const ready = performance.now();

  // For tests, which name the page with #selftest: the same events that a reader makes, and what became of the view.
  if (location.hash === '#selftest') {
    const press = (timeline, key) => timeline.drawing.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
    const seen = (timeline) => ({
      from_ps: timeline.view.from, until_ps: timeline.view.until, ...timeline.seen(),
      lighting: timeline.svg.classList.contains('lighting'),
      ticks: timeline.axes.map((axis) => [...axis.querySelectorAll('text')].map((text) => text.textContent)),
    });
    const outcome = { timelines: {}, marks: {}, taken: {} };
    for (const timeline of timelines) {
      const log = { first: seen(timeline) };
      const doing = {
        plus: () => press(timeline, '+'), right: () => press(timeline, 'ArrowRight'), minus: () => press(timeline, '-'),
        zero: () => press(timeline, '0'), next: () => press(timeline, 'n'), button: () => timeline.buttons['+'].click(), all: () => press(timeline, 'a'),
        wheel: () => {
          const box = timeline.svg.getBoundingClientRect();
          timeline.drawing.dispatchEvent(new WheelEvent('wheel', {
            deltaY: -100, clientX: box.left + box.width / 2, clientY: box.top + 5, bubbles: true, cancelable: true,
          }));
        },
        reset: () => timeline.buttons['0'].click(),
        drag: () => {
          press(timeline, '+');
          const pointer = (type, clientX) => timeline.drawing.dispatchEvent(new PointerEvent(type, {
            clientX, clientY: 0, button: 0, bubbles: true, cancelable: true,
          }));
          pointer('pointerdown', timeline.width / 2);
          pointer('pointermove', timeline.width / 4);
          pointer('pointerup', timeline.width / 4);
        },
      };
      for (const [name, act] of Object.entries(doing)) {
        act();
        log[name] = seen(timeline);
      }
      outcome.timelines[timeline.figure.id] = log;
    }
    for (const figure of document.querySelectorAll('figure.marks')) {
      const drawing = figure.querySelector('.drawing');
      drawing.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true, cancelable: true }));
      const byKey = tip.hidden ? '' : tip.textContent;
      hide();
      drawing.querySelector('.mark').dispatchEvent(new PointerEvent('pointermove', { clientX: 9, clientY: 9, bubbles: true }));
      outcome.marks[figure.id] = { byKey, byPointer: tip.hidden ? '' : tip.textContent };
    }
    for (const figure of document.querySelectorAll('figure')) {
      const svg = new DOMParser().parseFromString(svgOf(figure), 'image/svg+xml');
      outcome.taken[figure.id] = {
        wellFormed: !svg.querySelector('parsererror'), texts: svg.querySelectorAll('text').length, variables: svgOf(figure).includes('var('),
        lines: csvOf(figure).trim().split('\n').length,
      };
    }
    hide();
    outcome.ready_ms = ready;
    outcome.requests = performance.getEntriesByType('resource').length;
    document.documentElement.dataset.selftest = JSON.stringify(outcome);
  }
})();
