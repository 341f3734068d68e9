// Boxes of objects: as TFLite_Detection_PostProcess finds them, or candidates of YOLO.

import {color, outlined, percent} from "./drawing.js";
import {best, finite, label, rowsOf} from "./outputs.js";

/** Of candidates: whether the output is [1, numbers, boxes], and how many numbers precede classes. */
export const LAYOUTS = {
  yolov5: {last: false, first: 5}, yolov8: {last: true, first: 4}, yolov8_rows: {last: false, first: 4}};
const LEAST_SCORE = 0.5, MOST_OVERLAP = 0.45;
/** Of the layers with anchors of MediaPipe's detectors, and the numbers of a box and its points. */
const STRIDES = [[8, 16, 16, 16], [16, 32, 32, 32], [8, 16, 32, 32, 32], [4]], NUMBERS = [12, 16, 18];
const MOST_OVERLAP_OF_ANCHORS = 0.3;
/** Coordinates relative to the picture are smaller than this; others are pixels. */
const LARGEST_RELATIVE = 2;

/** Those of TFLite_Detection_PostProcess: edges, classes, scores and a count, in any order. */
export function boxes(outputs, names) {
  const edges = outputs.find(({shape: [one, , four, ...more]}) => one === 1 && four === 4 && !more.length);
  const rows = outputs.filter(({shape}) => shape.length === 2 && shape[1] === edges?.shape[1]);
  const counts = outputs.filter(({shape, values}) => values.length === 1 && shape.length !== 2);
  if (!edges || rows.length !== 2 || counts.length !== 1) return null;
  const [kinds, scores] = rows[0].values.every(Number.isInteger) ? rows : rows.reverse();
  const found = rowsOf(edges.values, 4).map(([top, left, bottom, right], at) =>
    ({index: kinds.values[at], score: scores.values[at], top, left, bottom, right}));
  return boxesShown(found.filter((_, at) => at < counts[0].values[0]), names);
}

/** Those of YOLO, of which most show nothing and many show the same. */
export function candidates(outputs, names, [height, width], layouts) {
  for (const {name, shape, values} of outputs) {
    if (shape.length !== 3 || shape[0] !== 1 || values.every(Number.isInteger)) continue;
    const fitting = layouts.filter((each) => plausible(shape, values, LAYOUTS[each]));
    const named = fitting.filter((each) => at(shape, LAYOUTS[each]).numbers
      === LAYOUTS[each].first + names.length);
    const [layout, ...others] = named.length ? named : fitting;
    if (others.length) throw new Error(`${name} may have several layouts: choose ${fitting.join(" or ")}`);
    if (!layout) continue;
    const {first} = LAYOUTS[layout], {count, numbers, place} = at(shape, LAYOUTS[layout]);
    const rows = Array.from({length: count}, (_, row) => {
      const all = Array.from({length: numbers}, (_, number) => values[place(row, number)]);
      const index = best(all.slice(first)), score = all[first + index] * (first === 5 ? all[4] : 1);
      const [x, y, w, h] = all;
      return {index, score, top: y - h / 2, left: x - w / 2, bottom: y + h / 2, right: x + w / 2,
        largest: Math.max(...all.slice(0, 4).map(Math.abs))};
    });
    const certain = likeliest(rows);
    const pixels = certain.some(({largest}) => largest > LARGEST_RELATIVE);
    const [high, wide] = pixels ? [height, width] : [1, 1];
    const found = certain.map(({index, score, top, left, bottom, right}) => ({index, score,
      top: top / high, left: left / wide, bottom: bottom / high, right: right / wide}));
    return boxesShown(distinct(found, MOST_OVERLAP), names);
  }
  return null;
}

/** Those of MediaPipe's detectors: logits, and boxes in pixels relative to the middles of cells. */
export function anchored(outputs, names, [height, width]) {
  const found = outputs.filter(({shape}) => shape.length === 3 && shape[0] === 1);
  const places = found.find(({shape}) => NUMBERS.includes(shape[2]));
  const logits = found.find(({shape}) => shape[1] === places?.shape[1] && shape[2] === 1);
  const anchors = STRIDES.map((strides) => middles(strides, height, width))
    .find(({length}) => length === places?.shape[1]);
  if (!logits || !anchors) return null;
  const rows = rowsOf(places.values, places.shape[2]).map(([x, y, w, h], row) => {
    const [middleX, middleY] = anchors[row];
    const [left, top] = [(x - w / 2) / width + middleX, (y - h / 2) / height + middleY];
    return {index: 0, score: 1 / (1 + Math.exp(-logits.values[row])),
      top, left, bottom: top + h / height, right: left + w / width};
  });
  return boxesShown(distinct(likeliest(rows), MOST_OVERLAP_OF_ANCHORS), names);
}

/** The anchors (x, y) of grids; those of the same stride follow one another in each cell. */
function middles(strides, height, width) {
  const each = strides.length === 1 ? 1 : 2;
  return Array.from(new Set(strides)).flatMap((stride) => {
    const rows = Math.ceil(height / stride), columns = Math.ceil(width / stride);
    const count = each * strides.filter((other) => other === stride).length;
    return Array.from({length: rows * columns * count}, (_, at) => {
      const cell = Math.floor(at / count);
      return [(cell % columns + 0.5) / columns, (Math.floor(cell / columns) + 0.5) / rows];
    });
  });
}

const sorted = (boxes) => boxes.filter(finite).sort((one, other) => other.score - one.score);
/** Those that are certain, or else the best one. */
const likeliest = (boxes) => sorted(boxes).filter(
  ({score}, place) => score >= LEAST_SCORE || place === 0);

/** Of boxes, in this order, those that overlap no earlier one of their kind by more. */
function distinct(boxes, most) {
  const kept = [];
  for (const box of boxes) {
    const alike = kept.filter((other) => other.index === box.index);
    if (alike.every((other) => overlap(box, other) <= most)) kept.push(box);
  }
  return kept;
}

/** How many candidates there are, of how many numbers, and where each number is. */
function at([, rows, columns], {last}) {
  return last ? {count: columns, numbers: rows, place: (row, number) => number * columns + row}
    : {count: rows, numbers: columns, place: (row, number) => row * columns + number};
}

function plausible(shape, values, layout) {
  const {count, numbers, place} = at(shape, layout);
  if (count <= numbers || numbers <= layout.first) return false;
  for (let row = 0; row < count; row++) {
    for (let number = 2; number < numbers; number++) {
      const value = values[place(row, number)];
      if (value <= -0.01 || (number >= 4 && value >= 1.01)) return false;
    }
  }
  return true;
}

const area = ({top, left, bottom, right}) => Math.max(bottom - top, 0) * Math.max(right - left, 0);
function overlap(one, other) {
  const shared = area({
    top: Math.max(one.top, other.top), left: Math.max(one.left, other.left),
    bottom: Math.min(one.bottom, other.bottom), right: Math.min(one.right, other.right)});
  return shared / Math.max(area(one) + area(other) - shared, 1e-12);
}

function boxesShown(found, names) {
  const all = sorted(found);
  const records = all.filter(({score}) => score >= LEAST_SCORE)
    .map((box) => ({label: label(names, box.index), ...box}));
  const missed = all[0] ? `; the best one has ${percent(all[0].score)}` : "";
  return {
    records,
    text: records.map((box) => `${box.label} ${percent(box.score)}`).join("\n") || `no boxes${missed}`,
    draw({context, width, height, line, size}) {
      context.lineWidth = line;
      for (const {label, index, score, top, left, bottom, right} of records) {
        const shade = color(index + 1), text = `${label} ${percent(score)}`;
        const [x, y] = [left * width, top * height];
        context.strokeStyle = context.fillStyle = shade;
        context.strokeRect(x, y, (right - left) * width, (bottom - top) * height);
        context.fillRect(x, Math.max(y, 0), context.measureText(text).width + line, size + line);
        context.fillStyle = "white";
        context.strokeStyle = "black";
        outlined(context, text, x + line, Math.max(y, 0) + size);
      }
    }};
}
