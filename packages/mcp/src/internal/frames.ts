/** Takes a stream of bytes apart into lines, and keeps no line that is longer than a message may be. */

/** How long a message may be, in bytes. */
export const longestFrame = 16 * 1024 * 1024

const lineFeed = 0x0a

/** The lines of a stream that comes in pieces. */
interface Frames {
  /** The lines that end in this piece; undefined stands for one that is too long, of which the rest is skipped. */
  readonly push: (piece: Buffer) => ReadonlyArray<string | undefined>
}

/** Makes it. */
export const makeFrames = (longest = longestFrame): Frames => {
  let begun: Array<Buffer> = []
  let size = 0
  let isSkipping = false
  const add = (part: Buffer): boolean => {
    size += part.length
    if (isSkipping) return true
    begun.push(part)
    if (size <= longest) return true
    begun = []
    isSkipping = true
    return false
  }
  return {
    push: (piece) => {
      const lines: Array<string | undefined> = []
      let from = 0
      for (let at = piece.indexOf(lineFeed); at >= 0; at = piece.indexOf(lineFeed, from)) {
        if (!add(piece.subarray(from, at))) lines.push(undefined)
        if (!isSkipping) lines.push(Buffer.concat(begun).toString("utf8").replace(/\r$/, ""))
        begun = []
        size = 0
        isSkipping = false
        from = at + 1
      }
      if (from < piece.length && !add(piece.subarray(from))) lines.push(undefined)
      return lines
    }
  }
}
