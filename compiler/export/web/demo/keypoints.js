// Points of bodies: of MoveNet, of heatmaps, and of PoseNet, which joins them to bodies.
// Papandreou et al., PersonLab, 2018.

import {color, outlined} from "./drawing.js";
import {finite, isMap, least, most, rowsOf} from "./outputs.js";

const POINTS = 17, LEAST_SCORE = 0.2;
/** Pairs of the points of the COCO data set that are joined by a line. */
const BONES = [[0, 1], [0, 2], [1, 3], [2, 4], [5, 6], [5, 7], [7, 9], [6, 8], [8, 10], [5, 11],
  [6, 12], [11, 12], [11, 13], [13, 15], [12, 14], [14, 16]];
/** Pairs, parent and child, along which bodies of PoseNet grow. */
const TREE = [[0, 1], [1, 3], [0, 2], [2, 4], [0, 5], [5, 7], [7, 9], [5, 11], [11, 13], [13, 15],
  [0, 6], [6, 8], [8, 10], [6, 12], [12, 14], [14, 16]];
/** The score of a point that a body may grow from, and the mean score of a body's points. */
const LEAST_ROOT = 0.5, LEAST_BODY = 0.2;
/** Pixels within which two points of a kind are of the same body. */
const APART = 20;

export const hasPoints = ({shape}) => shape.length === 4 && shape[0] === 1 && shape[1] === 1
  && shape[3] === 3;
export const hasPoses = ({shape}) => shape.length === 3 && shape[0] === 1 && shape[2] === 3 * POINTS + 5;

/** Points of MoveNet for one body or several, or the peaks of heatmaps. */
export function keypoints(outputs) {
  for (const output of outputs) {
    const {shape, values} = output;
    if (hasPoints(output)) return pointsShown([rowsOf(values, 3)]);
    if (hasPoses(output)) {
      const certain = rowsOf(values, shape[2]).filter((row) => row.at(-1) >= LEAST_SCORE);
      return pointsShown(certain.map((row) => rowsOf(row.subarray(0, 3 * POINTS), 3)));
    }
    if (isMap(output) && Math.min(shape[1], shape[2]) > 4) {
      const [, height, width, count] = shape, scores = probabilities(values);
      return pointsShown([Array.from({length: count}, (_, part) => {
        const cell = bestCell(scores, part, count);
        return [(Math.floor(cell / width) + 0.5) / height, (cell % width + 0.5) / width,
          scores[cell * count + part]];
      })]);
    }
  }
  return null;
}

const probabilities = (values) => (least(values) >= -0.1 && most(values) <= 1.1
  ? values : values.map((value) => 1 / (1 + Math.exp(-value))));

function bestCell(scores, part, count) {
  let found = 0;
  for (let cell = 0; cell * count < scores.length; cell++) {
    if (scores[cell * count + part] > scores[found * count + part]) found = cell;
  }
  return found;
}

/**
 * Bodies of PoseNet: heatmaps, offsets of points in pixels, and displacements along the edges of a tree,
 * forwards and backwards. A body grows from its best point. Without displacements there is one body.
 */
export function poses(outputs, size) {
  const maps = outputs.filter(({shape}) => shape.length === 4);
  const heat = maps.find(({shape}) => shape[3] === POINTS);
  const alike = maps.filter(({shape}) => shape[1] === heat?.shape[1] && shape[2] === heat.shape[2]);
  const offsets = alike.find(({shape}) => shape[3] === 2 * POINTS);
  if (!offsets || Math.min(heat.shape[1], heat.shape[2]) < 2) return null;
  const [, rows, columns] = heat.shape, edges = TREE.length;
  const scores = probabilities(heat.values);
  const both = alike.find(({shape}) => shape[3] === 4 * edges);
  const halves = both ? [both, both] : alike.filter(({shape}) => shape[3] === 2 * edges);
  /** The displacement (y, x) at a cell along an edge; those after TREE lead backwards. */
  const move = (cell, edge) => {
    const back = edge >= edges ? 1 : 0;
    const start = cell * halves[back].shape[3] + (both ? 2 * edges * back : 0) + edge % edges;
    return [halves[back].values[start], halves[back].values[start + edges]];
  };
  const stride = [(size[0] - 1) / (rows - 1), (size[1] - 1) / (columns - 1)];
  const point = (cell, part) => [
    Math.floor(cell / columns) * stride[0] + offsets.values[cell * 2 * POINTS + part],
    (cell % columns) * stride[1] + offsets.values[cell * 2 * POINTS + POINTS + part],
    scores[cell * POINTS + part]];
  const nearest = ([y, x]) => {
    const place = (value, count) => Math.min(Math.max(Math.round(value), 0), count - 1);
    return place(y / stride[0], rows) * columns + place(x / stride[1], columns);
  };
  const relative = (body) => body.map(([y, x, score]) => [y / size[0], x / size[1], score]);
  if (halves.length !== 2) {
    const parts = Array.from({length: POINTS}, (_, part) => point(bestCell(scores, part, POINTS), part));
    return pointsShown([relative(parts)]);
  }
  const directed = [...TREE, ...TREE.map(([parent, child]) => [child, parent])];
  const grown = (part, root) => {
    const body = [], open = [part];
    body[part] = root;
    while (open.length) {
      const start = open.pop();
      directed.forEach(([parent, child], edge) => {
        if (parent !== start || body[child]) return;
        const [y, x] = move(nearest(body[start]), edge);
        body[child] = point(nearest([body[start][0] + y, body[start][1] + x]), child);
        body[child] = point(nearest(body[child]), child);
        open.push(child);
      });
    }
    return body;
  };
  const found = [];
  for (const [cell, part] of peaks(scores, rows, columns)) {
    const root = point(cell, part);
    const near = ({[part]: [y, x]}) => Math.hypot(root[0] - y, root[1] - x) <= APART;
    if (!found.some(near)) found.push(grown(part, root));
  }
  const mean = (body) => body.reduce((sum, [, , score]) => sum + score, 0) / POINTS;
  return pointsShown(found.filter((body) => mean(body) >= LEAST_BODY).map(relative));
}

/** Cells and points that score best among their neighbours, and well enough; the best first. */
function peaks(scores, rows, columns) {
  const found = [];
  scores.forEach((score, place) => {
    const part = place % POINTS, cell = (place - part) / POINTS, column = cell % columns;
    if (score < LEAST_ROOT) return;
    for (let y = -1; y <= 1; y++) {
      for (let x = -1; x <= 1; x++) {
        const beside = column + x >= 0 && column + x < columns;
        if (beside && scores[place + (y * columns + x) * POINTS] > score) return;
      }
    }
    found.push([cell, part, score]);
  });
  return found.sort((one, other) => other[2] - one[2]);
}

function pointsShown(found) {
  const records = found.flatMap((body, pose) => body.map(([y, x, score], index) =>
    ({pose, index, y, x, score}))).filter(finite);
  const certain = records.filter(({score}) => score >= LEAST_SCORE);
  const several = new Set(certain.map(({pose}) => pose)).size > 1;
  return {
    records,
    text: `${certain.length} of ${records.length} points are certain`,
    draw({context, width, height, line, size}) {
      const place = ({y, x}) => [x * width, y * height];
      for (const pose of found.keys()) {
        for (const bone of found[pose].length === POINTS ? BONES : []) {
          const ends = bone.map((end) => certain.find((each) => each.pose === pose && each.index === end));
          if (!ends.every(Boolean)) continue;
          for (const [shade, wide] of [["black", line + 2], [several ? color(pose + 1) : "white", line]]) {
            [context.strokeStyle, context.lineWidth] = [shade, wide];
            context.beginPath();
            context.moveTo(...place(ends[0]));
            context.lineTo(...place(ends[1]));
            context.stroke();
          }
        }
      }
      context.lineWidth = line;
      for (const each of certain) {
        const [x, y] = place(each);
        context.fillStyle = color((several ? each.pose : each.index) + 1);
        context.strokeStyle = "white";
        context.beginPath();
        context.arc(x, y, 1.5 * line, 0, 2 * Math.PI);
        context.stroke();
        context.fill();
        [context.strokeStyle, context.fillStyle] = ["black", "white"];
        outlined(context, each.index, x + 2 * line, y - size / 3);
      }
    }};
}
