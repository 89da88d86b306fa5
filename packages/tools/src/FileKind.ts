/** Decides what kind of file it is, from its first bytes instead of its name. */

/** Image types that models accept. */
const images: ReadonlyArray<readonly [mime: string, test: (bytes: Uint8Array) => boolean]> = [
  ["image/png", (b) => b[0] === 0x89 && b[1] === 0x50 && b[2] === 0x4e && b[3] === 0x47],
  ["image/jpeg", (b) => b[0] === 0xff && b[1] === 0xd8 && b[2] === 0xff],
  ["image/gif", (b) => b[0] === 0x47 && b[1] === 0x49 && b[2] === 0x46 && b[3] === 0x38],
  ["image/webp", (b) => ascii(b, 0, 4) === "RIFF" && ascii(b, 8, 12) === "WEBP"]
]

const ascii = (bytes: Uint8Array, from: number, to: number): string => String.fromCharCode(...bytes.subarray(from, to))

/** The type of an image that models accept; `undefined` for everything else. */
export const imageType = (bytes: Uint8Array): string | undefined => images.find(([, test]) => test(bytes))?.[0]

/** How many bytes are checked for characters that text does not contain. */
const looked = 8 * 1024

/** Whether a file is binary: it has a NUL, or many other control characters, near its beginning. */
export const isBinary = (bytes: Uint8Array): boolean => {
  const length = Math.min(bytes.length, looked)
  let controls = 0
  for (let i = 0; i < length; i++) {
    const byte = bytes[i] as number
    if (byte === 0) return true
    // Tabs, line breaks, form feeds, backspaces and escapes also occur in text.
    if (byte < 32 && (byte < 8 || byte > 13) && byte !== 27) controls++
  }
  return controls > length * 0.3
}
