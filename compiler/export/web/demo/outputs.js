// Outputs of a run: each has a name, a shape and its real values.

export const least = (values) => values.reduce((one, other) => Math.min(one, other), Infinity);
export const most = (values) => values.reduce((one, other) => Math.max(one, other), -Infinity);
/** The index of the largest of some values. */
export const best = (values) => values.reduce((one, value, at) => (value > values[one] ? at : one), 0);
/** Values in rows of so many. */
export const rowsOf = (values, width) => Array.from({length: values.length / width}, (_, row) =>
  values.subarray(width * row, width * (row + 1)));
export const finite = (record) => Object.values(record).every(Number.isFinite);
export const label = (names, index) => names[index] ?? `class ${index}`;
/** Whether an output has values for each place of a picture. */
export const isMap = ({shape}) => shape.length === 4 && shape[0] === 1 && Math.min(shape[1], shape[2]) > 1;
