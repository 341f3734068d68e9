// Masks and images, which have a value for each place of a picture, and scores of classes.

import {canvasOf, channelsOf, color, percent} from "./drawing.js";
import {best, isMap, label, least, most} from "./outputs.js";

const BEST = 5, OPACITY = 0.6;

/** Classes of pixels as ARG_MAX computes them. */
export const isClassMap = ({shape, values}) => shape.length === 3 && shape[0] === 1
  && Math.min(shape[1], shape[2]) > 4 && values.every((value) => Number.isInteger(value) && value >= 0);

/** The class of each pixel: of the best score, of one probability or logit, or given as such. */
export function mask(outputs, names) {
  const output = outputs.find((each) => isMap(each) || isClassMap(each));
  if (!output) return null;
  const {shape: [, height, width, channels = 0], values} = output;
  const threshold = channels === 1 && least(values) >= 0 && most(values) <= 1 ? 0.5 : 0;
  const given = channels === 1 && names.length < 2 ? ["background", names[0] ?? "foreground"] : names;
  const kinds = Uint32Array.from({length: height * width}, (_, pixel) => (
    channels > 1 ? best(values.subarray(channels * pixel, channels * (pixel + 1)))
      : channels ? Number(values[pixel] >= threshold) : values[pixel]));
  const counts = new Map();
  for (const kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const records = Array.from(counts).sort(([one, n], [other, m]) => m - n || one - other)
    .map(([kind, count]) => ({
      class: label(given, kind), share: count / kinds.length, color: kind ? color(kind) : "none"}));
  return {
    records,
    text: records.map((each) => `${each.class} ${percent(each.share)}`).join("\n"),
    draw({context, width: wide, height: high}) {
      context.globalAlpha = OPACITY;
      context.imageSmoothingEnabled = false;
      const shades = new Map(Array.from(counts.keys(), (kind) => [kind, channelsOf(kind)]));
      const texels = (pixel) => [...shades.get(kinds[pixel]), kinds[pixel] ? 255 : 0];
      context.drawImage(canvasOf(width, height, texels), 0, 0, wide, high);
      context.globalAlpha = 1;
    }};
}

/** An output that is an image: values of 0..1, of -1..1, or else of 0..255. */
export function image(outputs) {
  const output = outputs.find((each) => isMap(each) && [1, 3].includes(each.shape[3]));
  if (!output) return null;
  const {name, shape: [, height, width, channels], values} = output;
  const low = least(values);
  const small = low >= -1.5 && most(values) <= 1.5;
  const byte = (value) => (small ? (low < -0.1 ? (value + 1) * 127.5 : value * 255) : value);
  const texels = (pixel) => [0, 1, 2].map((channel) =>
    byte(values[pixel * channels + channel % channels])).concat(255);
  return {
    records: [{output: name, width, height}],
    text: `${name}: ${width} x ${height}`,
    draw({context}) {
      [context.canvas.width, context.canvas.height] = [width, height];
      context.drawImage(canvasOf(width, height, texels), 0, 0);
    }};
}

/** The best classes of an output with one score for each. */
export function classes(outputs, names) {
  const output = outputs.find(({shape, values}) => shape.at(-1) === values.length && values.length > 1);
  if (!output) return null;
  const order = Array.from(output.values.keys())
    .sort((one, other) => output.values[other] - output.values[one]).slice(0, BEST);
  const records = order.map((index) =>
    ({index, label: label(names, index), score: output.values[index]}));
  return {
    records, text: records.map((each) => `${each.label} ${each.score.toFixed(4)}`).join("\n"), draw() {}};
}
