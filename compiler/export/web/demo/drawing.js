// What all drawings over a picture have in common.

export const percent = (share) => `${(100 * share).toFixed(1)} %`;

/** Draws what is shown over the picture that a canvas holds. */
export function drawOver(shown, context) {
  const {width, height} = context.canvas, side = Math.min(width, height);
  const line = Math.max(Math.floor(side / 150), 2), size = Math.max(Math.floor(side / 30), 11);
  context.font = `${size}px sans-serif`;
  shown.draw({context, width, height, line, size});
}

export function outlined(context, text, x, y) {
  const {lineWidth} = context;
  context.lineWidth = 2;
  context.strokeText(text, x, y);
  context.fillText(text, x, y);
  context.lineWidth = lineWidth;
}

/** The channels of a class's color: its bits, three at a time, are the highest of red, green and blue. */
export function channelsOf(number) {
  return [0, 1, 2].map((channel) => {
    let value = 0;
    for (let bit = 0; bit < 8; bit++) value |= (number >> (3 * bit + channel) & 1) << (7 - bit);
    return value;
  });
}

export function color(number) {
  return `#${channelsOf(number).map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

export function canvasOf(width, height, texels) {
  const canvas = new OffscreenCanvas(width, height), context = canvas.getContext("2d");
  const pixels = context.createImageData(width, height);
  for (let pixel = 0; pixel < width * height; pixel++) pixels.data.set(texels(pixel), 4 * pixel);
  context.putImageData(pixels, 0, 0);
  return canvas;
}
