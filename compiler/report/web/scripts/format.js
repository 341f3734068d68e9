// Numbers and shapes as text.

const format = {
  /** 1 x 112 x 112 x 32 with multiplication signs. */
  shape: (sizes) => (sizes.length ? sizes.join("\u00d7") : "scalar"),

  bytes: (count) => inUnits(count, ["bytes", "kB", "MB", "GB", "TB"]),

  /** 1234567 as 1.23 M. */
  count: (value) => inUnits(value, ["", "K", "M", "G", "T"]),

  /** A time in milliseconds; shorter ones in microseconds. */
  ms(value) {
    if (value && value < 1) return `${(value * 1000).toPrecision(3)} \u00b5s`;
    return `${value >= 100 ? value.toFixed(0) : value.toPrecision(3)} ms`;
  },

  percent: (share) => `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`,

  whole: (value) => value.toLocaleString("en"),

  /** Numbers in ascending order with their runs joined: 3, 4, 5, 9 as 3\u20135, 9. */
  ranges(numbers) {
    const found = [];
    for (const number of numbers) {
      const last = found.at(-1);
      if (last && last[1] === number - 1) last[1] = number;
      else found.push([number, number]);
    }
    return found.map(([a, b]) => (a === b ? `${a}` : `${a}\u2013${b}`)).join(", ");
  },
};

/** A number with three digits in the largest unit that it reaches, each 1000 of the one before. */
function inUnits(value, units) {
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit ? value.toPrecision(3) : value} ${units[unit]}`.trimEnd();
}

/** Operators without the prefix of those that the compiler adds. */
const short = (title) => title.replaceAll("tflgpu.", "");
