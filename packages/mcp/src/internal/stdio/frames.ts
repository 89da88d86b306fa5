/** Takes a stream of bytes apart into lines, and keeps no line that is longer than a message may be. */

/** How long a message may be, in bytes. */
export const longestFrame = 16 * 1024 * 1024

const lineFeed = 0x0a

/** The lines of a stream that comes in pieces. */
export interface Frames {
  /** The lines that end in this piece; undefined once a line is too long. */
  readonly push: (piece: Buffer) => ReadonlyArray<string> | undefined
}

/** Makes it. */
export const makeFrames = (longest = longestFrame): Frames => {
  let begun: Array<Buffer> = []
  let size = 0
  return {
    push: (piece) => {
      const lines: Array<string> = []
      let from = 0
      for (let at = piece.indexOf(lineFeed); at >= 0; at = piece.indexOf(lineFeed, from)) {
        if (size + at - from > longest) return undefined
        lines.push(Buffer.concat([...begun, piece.subarray(from, at)]).toString("utf8").replace(/\r$/, ""))
        begun = []
        size = 0
        from = at + 1
      }
      if (from < piece.length) {
        begun.push(piece.subarray(from))
        size += piece.length - from
      }
      return size > longest ? undefined : lines
    }
  }
}
