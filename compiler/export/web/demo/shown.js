// What the outputs of a model show of a picture, found and drawn as by `tflgpu run`.

import {LAYOUTS, anchored, boxes, candidates} from "./boxes.js";
import {hasPoints, hasPoses, keypoints, poses} from "./keypoints.js";
import {classes, image, isClassMap, mask} from "./maps.js";
import {isMap} from "./outputs.js";

/** What can be asked for. */
export const KINDS = ["boxes", "mask", "keypoints", "image", "classes", ...Object.keys(LAYOUTS)];

/**
 * What outputs show: its kind, records of what was found, a text, and `draw`, which draws it on a
 * canvas. `kind` is one of KINDS; if it is empty, shapes tell. `names` are those of classes,
 * and `size` is the height and width of the model's picture.
 */
export function shownIn(outputs, names, size, kind = "") {
  const finders = {
    keypoints: () => poses(outputs, size) ?? keypoints(outputs),
    boxes: () => boxes(outputs, names) ?? anchored(outputs, names, size)
      ?? candidates(outputs, names, size, Object.keys(LAYOUTS)),
    mask: () => mask(outputs, names),
    image: () => image(outputs),
    classes: () => classes(outputs, names),
  };
  for (const layout of Object.keys(LAYOUTS)) {
    finders[layout] = () => candidates(outputs, names, size, [layout]);
  }
  for (const each of kind ? [kind] : [...evidence(outputs, names, size), "classes"]) {
    const found = finders[each]();
    if (found) return {kind: each in LAYOUTS ? "boxes" : each, ...found};
  }
  const listed = outputs.map(({name, shape}) => `${name} [${shape}]`).join(", ");
  throw new Error(kind ? `the outputs show no ${kind}: ${listed}`
    : `it is not clear what the outputs show: choose it above; they are ${listed}`);
}

/** The kinds that the outputs show, the likeliest first. */
function evidence(outputs, names, size) {
  if (outputs.some(hasPoints) || outputs.some(hasPoses) || poses(outputs, size)) return ["keypoints"];
  const found = ["boxes"];
  for (const output of outputs) {
    if (isClassMap(output)) found.push("mask");
    if (!isMap(output)) continue;
    const [, height, width, channels] = output.shape;
    const whole = height >= size[0] && width >= size[1];
    if (channels === 3 && whole && names.length !== 3) found.push("image");
    else if (channels === 1 || whole || channels === names.length) found.push("mask");
  }
  return found;
}
