/** Parses server-sent events as bytes arrive. It reads `data:` and `event:`, and ignores the rest of the format. */
import { StringDecoder } from "node:string_decoder"

/**
 * A reader of one stream; call it with each chunk. It calls `take` with the data of each complete event. `take` returns
 * whether to continue, and so does the reader: after false it reads nothing more. An event longer than the limit calls
 * `tooLong` and ends the reading too.
 */
export const makeEventStream = (
  take: (data: string, type?: string) => boolean,
  longest = Number.POSITIVE_INFINITY,
  tooLong = () => {}
): (bytes: Uint8Array) => boolean => {
  const decoder = new StringDecoder("utf8")
  let begun = false
  let going = true
  /** The start of a line that is not complete yet. */
  let held = ""
  /** Whether the last chunk ended with CR: an LF at the start of the next chunk belongs to it. */
  let afterReturn = false
  let data: string | undefined
  let type: string | undefined

  const readLine = (line: string): boolean => {
    if (line === "") {
      const whole = data
      const named = type
      data = undefined
      type = undefined
      return whole === undefined || whole === "" || take(whole, named)
    }
    if (line.startsWith("event:")) type = line.slice(6).trim() || undefined
    if (line.startsWith("data:")) {
      const value = line.slice(line.charCodeAt(5) === space ? 6 : 5)
      data = data === undefined ? value : `${data}\n${value}`
    } else if (line === "data") data = data === undefined ? "" : `${data}\n`
    return true
  }

  return (bytes) => {
    const text = decoder.write(bytes)
    if (text === "" || !going) return going
    let from = !begun && text.charCodeAt(0) === byteOrderMark ? 1 : 0
    begun = true
    if (afterReturn && text.charCodeAt(0) === lineFeed) from = 1
    afterReturn = false
    let feed = text.indexOf("\n", from)
    let ret = text.indexOf("\r", from)
    while (feed !== -1 || ret !== -1) {
      const end = ret === -1 || (feed !== -1 && feed < ret) ? feed : ret
      const line = held + text.slice(from, end)
      held = ""
      from = end + 1
      if (end === ret) {
        if (from === text.length) afterReturn = true
        else if (text.charCodeAt(from) === lineFeed) from++
        ret = text.indexOf("\r", from)
      }
      if (feed !== -1 && feed < from) feed = text.indexOf("\n", from)
      going = readLine(line)
      if (!going) return false
    }
    held += text.slice(from)
    if (held.length + (data?.length ?? 0) > longest) {
      going = false
      held = ""
      data = undefined
      tooLong()
    }
    return going
  }
}

const space = 0x20
const lineFeed = 0x0a
const byteOrderMark = 0xfeff
