/** Reads server-sent events as their bytes arrive, and tells what follows `data:` and `event:`; the rest of the format has no use here. */
import { StringDecoder } from "node:string_decoder"

/**
 * A reader of one stream, to be called with each piece of it. `take` hears the data of each event that is whole, and returns
 * whether to go on; the reader returns the same, and reads nothing more once that was false. It does so as well after it
 * has called `tooLong`, for an event of more than so many characters.
 */
export const makeEventStream = (
  take: (data: string, type?: string) => boolean,
  longest = Number.POSITIVE_INFINITY,
  tooLong = () => {}
): (bytes: Uint8Array) => boolean => {
  const decoder = new StringDecoder("utf8")
  let begun = false
  let going = true
  /** The beginning of a line whose end is still to come. */
  let held = ""
  /** Whether the last piece ended with CR, so that LF at the beginning of the next belongs to it. */
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
