'use strict';
// Everything is on the page without this script. It adds reading by pointer and keyboard, and zooming along time.
(() => {
  const SVG = document.documentElement.querySelector('svg').namespaceURI;
  const tip = document.getElementById('tip');
  const marksOf = (figure) => [...figure.querySelectorAll('.mark:not(.gone)')];

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
    const box = tip.getBoundingClientRect();
    const width = document.documentElement.clientWidth;
    const left = Math.max(8, Math.min(x + 14, width - box.width - 8));
    const top = y - box.height - 12 < 0 ? y + 18 : y - box.height - 12;
    tip.style.left = `${left + window.scrollX}px`;
    tip.style.top = `${top + window.scrollY}px`;
  }

  function hide() {
    tip.hidden = true;
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
    drawing.addEventListener('pointerleave', hide);
    drawing.addEventListener('blur', hide);
    drawing.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const timeline = figure.classList.contains('timeline');
      const by = { n: 1, p: -1, ...(timeline ? {} : { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 }) };
      if (event.key in by) step(figure, by[event.key]);
      else if (event.key === 'Escape') hide();
      else return;
      event.preventDefault();
    });
  }

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

  class Timeline {
    constructor(figure) {
      this.figure = figure;
      this.drawing = figure.querySelector('.drawing');
      this.svg = this.drawing.querySelector('svg');
      this.data = JSON.parse(document.getElementById(`${figure.id}-data`).textContent);
      this.height = this.svg.viewBox.baseVal.height;
      this.focus = { from: this.data.focus_ps[0], until: this.data.focus_ps[1] };
      this.all = { from: this.data.from_ps, until: this.data.until_ps };
      this.view = { ...this.focus };
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
      this.axes = [...this.svg.querySelectorAll('.time-axis')];
      figure.classList.add('live');
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
        ['Zoom in', '+'], ['Zoom out', '-'], ['Earlier', 'ArrowLeft'], ['Later', 'ArrowRight'], ['One cycle', '0'],
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
      hint.textContent = 'Wheel or + and \u2212 zoom, dragging or arrow keys move, 0 is one cycle, A everything, N and P read the phases.';
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

    layout(width = Math.max(280, this.drawing.clientWidth)) {
      this.width = width;
      const { from, until } = this.view;
      const x = (ps) => ((ps - from) / (until - from)) * width;
      this.svg.setAttribute('viewBox', `0 0 ${width} ${this.height}`);
      this.svg.setAttribute('width', width);
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
        if (at > 12 && at < end - 16 || at <= 12 && at >= 0) {
          const text = document.createElementNS(SVG, 'text');
          text.setAttribute('class', at < 12 ? 'tick' : 'tick middle');
          text.setAttribute('x', at);
          text.setAttribute('y', y + 18);
          text.textContent = plain(k * size);
          parts.push(text);
        }
      }
      axis.replaceChildren(...parts);
      axis.previousElementSibling.setAttribute('d', `M0 ${y}H${width}`);
      name.setAttribute('x', width);
    }
  }

  const timelines = [];
  for (const figure of document.querySelectorAll('figure')) {
    readable(figure);
    if (figure.classList.contains('timeline')) timelines.push(new Timeline(figure));
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
      from_ps: timeline.view.from, until_ps: timeline.view.until,
      widest: Math.max(...timeline.blocks.flat().filter((b) => !b.g.classList.contains('gone')).map((b) => b.rects[0].width.baseVal.value)),
      blocks: timeline.blocks.flat().filter((b) => !b.g.classList.contains('gone')).length,
      ticks: timeline.axes.map((axis) => [...axis.querySelectorAll('text')].map((text) => text.textContent)),
    });
    const outcome = { timelines: {}, marks: {} };
    for (const timeline of timelines) {
      const log = { first: seen(timeline) };
      const doing = {
        plus: () => press(timeline, '+'), right: () => press(timeline, 'ArrowRight'), minus: () => press(timeline, '-'),
        zero: () => press(timeline, '0'), button: () => timeline.buttons['+'].click(), all: () => press(timeline, 'a'),
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
    hide();
    outcome.ready_ms = ready;
    outcome.requests = performance.getEntriesByType('resource').length;
    document.documentElement.dataset.selftest = JSON.stringify(outcome);
  }
})();
