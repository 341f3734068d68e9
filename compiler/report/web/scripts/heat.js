// What nodes can be coloured by, and the colours.

const heat = (() => {
  const STRONGEST = 0.85; // of the colour that marks the largest value
  const measured = contents.profile !== null;
  const compiled = kernels.some((kernel) => kernel.code);
  const compared = contents.comparison.length > 0;
  const change = changes();

  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const most = (values) => Math.max(...values);
  const least = (values) => Math.min(...values);

  /**
   * `of(name)` is the value for a step, null if it has none; `join` combines those of a block;
   * `low` is true where small values deserve attention, `signed` where 0 is neutral.
   */
  const all = [
    compared && { name: "change", title: "change of time", of: (name) => change.get(name) ?? null,
      join: sum, text: signed, signed: true },
    measured && { name: "time", title: "time", of: (name) => steps.get(name).ms,
      join: sum, text: format.ms },
    measured && { name: "roofline", title: "share of roofline",
      of: (name) => steps.get(name).roofline, join: least, text: format.percent, low: true },
    { name: "operations", title: "operations", of: (name) => steps.get(name).flops ?? null,
      join: sum, text: format.count },
    { name: "bytes", title: "bytes moved", of: (name) => steps.get(name).bytes ?? null,
      join: sum, text: format.bytes },
    compiled && { name: "registers", title: "registers",
      of: (name) => kernels[steps.get(name).kernel]?.code?.registers ?? null,
      join: most, text: String },
  ].filter(Boolean);

  for (const measure of all) {
    const values = [...steps.keys()].map(measure.of).filter((value) => value !== null);
    measure.most = Math.max(...values.map(Math.abs), 0);
    measure.total = sum(values);
  }

  /** The change of each step's time, in milliseconds; steps compared together share it alike. */
  function changes() {
    const found = new Map();
    for (const row of contents.comparison) {
      for (const index of row.dispatches) {
        found.set(`dispatch${index}`, (row.now_ms - row.before_ms) / row.dispatches.length);
      }
    }
    return found;
  }

  function signed(value) {
    return `${value > 0 ? "+" : "\u2212"}${format.ms(Math.abs(value))}`;
  }

  /** The value for steps, which are those of a node or of all nodes of a block. */
  function value(measure, names) {
    const values = names.map(measure.of).filter((item) => item !== null);
    return values.length ? measure.join(values) : null;
  }

  /** A colour for a value where `most` is the largest: [background, text]; null for none. */
  function colours(measure, amount, most) {
    if (amount === null || !most) return null;
    const share = Math.min(Math.abs(amount) / most, 1);
    const strength = STRONGEST * Math.sqrt(measure.low ? 1 - share : share);
    return mixed(measure.signed && amount < 0 ? "--faster" : "--hot", strength);
  }

  function mixed(name, strength) {
    const from = rgb("--node");
    const to = rgb(name);
    const mix = from.map((start, i) => Math.round(start + (to[i] - start) * strength));
    const light = 0.299 * mix[0] + 0.587 * mix[1] + 0.114 * mix[2] > 140;
    return [`rgb(${mix.join(",")})`, light ? "#16191d" : "#ffffff"];
  }

  function rgb(name) {
    const hex = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  }

  return { all, value, colours, change };
})();
