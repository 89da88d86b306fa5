/** Decides how a time is written on the command line. */
import { parseTime } from "@skein/domain/Milliseconds"

/**
 * Reads `90s`, `30m`, `1.5h`, `500ms` or `5` (seconds). Returns milliseconds, or undefined if it is not a time above
 * zero.
 */
export const parseDuration = (text: string): number | undefined => {
  const time = text.trim()
  return parseTime(/[\d.]$/.test(time) ? `${time}s` : time)
}
