// Makes a PNG file smaller: it reduces the picture to 256 colours (median cut) and uses the best compression.
import { crc32, deflateSync, inflateSync } from "node:zlib";

function* chunks(png) {
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    yield [png.toString("latin1", at + 4, at + 8), png.subarray(at + 8, at + 8 + length)];
    at += length + 12;
  }
}

/**
 * Returns the pixels of a PNG file. It must have no interlacing, and 8 bits for each of red, green, blue and optionally alpha.
 */
function decode(png) {
  const data = [];
  let width = 0;
  let height = 0;
  let depth = 3;
  for (const [type, body] of chunks(png)) {
    if (type === "IHDR") [width, height, depth] = [body.readUInt32BE(0), body.readUInt32BE(4), body[9] === 6 ? 4 : 3];
    else if (type === "IDAT") data.push(body);
  }
  const raw = inflateSync(Buffer.concat(data));
  const stride = width * depth;
  const rows = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (stride + 1)];
    for (let x = 0; x < stride; x++) {
      const a = x >= depth ? rows[y * stride + x - depth] : 0;
      const b = y ? rows[(y - 1) * stride + x] : 0;
      const c = x >= depth && y ? rows[(y - 1) * stride + x - depth] : 0;
      const p = a + b - c;
      const [pa, pb, pc] = [Math.abs(p - a), Math.abs(p - b), Math.abs(p - c)];
      const guess = [0, a, b, (a + b) >> 1, pa <= pb && pa <= pc ? a : pb <= pc ? b : c][filter];
      rows[y * stride + x] = raw[y * (stride + 1) + 1 + x] + guess;
    }
  }
  const pixels = new Uint32Array(width * height);
  for (let i = 0; i < pixels.length; i++) pixels[i] = (rows[i * depth] << 16) | (rows[i * depth + 1] << 8) | rows[i * depth + 2];
  return { width, height, pixels };
}

const part = (color, axis) => (color >> (16 - 8 * axis)) & 255;

function palette(pixels, size) {
  const counts = new Map();
  for (const p of pixels) counts.set(p, (counts.get(p) ?? 0) + 1);
  const measure = (colors) => {
    let best = { colors, axis: 0, spread: -1 };
    for (let axis = 0; axis < 3; axis++) {
      let [lo, hi] = [255, 0];
      for (const c of colors) [lo, hi] = [Math.min(lo, part(c, axis)), Math.max(hi, part(c, axis))];
      if (hi - lo > best.spread) best = { colors, axis, spread: hi - lo };
    }
    return best;
  };
  const boxes = [measure([...counts.keys()])];
  while (boxes.length < size) {
    boxes.sort((a, b) => b.spread * Math.sqrt(b.colors.length) - a.spread * Math.sqrt(a.colors.length));
    const { colors, axis } = boxes[0];
    if (colors.length < 2) break;
    colors.sort((a, b) => part(a, axis) - part(b, axis));
    const middle = colors.length >> 1;
    boxes.splice(0, 1, measure(colors.slice(0, middle)), measure(colors.slice(middle)));
  }
  const list = [];
  const index = new Map();
  for (const { colors } of boxes) {
    // A box of similar colours is replaced by its most frequent colour, so that large areas keep their exact colour.
    list.push(colors.reduce((best, c) => (counts.get(c) > counts.get(best) ? c : best)));
    for (const c of colors) index.set(c, list.length - 1);
  }
  return { list, index };
}

function chunk(type, body) {
  const out = Buffer.alloc(body.length + 12);
  out.writeUInt32BE(body.length, 0);
  out.write(type, 4, "latin1");
  body.copy(out, 8);
  out.writeUInt32BE(crc32(out.subarray(4, 8 + body.length)), 8 + body.length);
  return out;
}

export function shrink(png) {
  const { width, height, pixels } = decode(png);
  const { list, index } = palette(pixels, 256);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  const colors = Buffer.from(list.flatMap((c) => [part(c, 0), part(c, 1), part(c, 2)]));
  const raw = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) raw[y * (width + 1) + 1 + x] = index.get(pixels[y * width + x]);
  return Buffer.concat([png.subarray(0, 8), chunk("IHDR", header), chunk("PLTE", colors), chunk("IDAT", deflateSync(raw, { level: 9, memLevel: 9 })), chunk("IEND", Buffer.alloc(0))]);
}
