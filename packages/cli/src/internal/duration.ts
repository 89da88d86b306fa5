/** Decides how a time is written on the command line. */
import { parseTime } from "@skein/domain/TimeText"

/** Reads `90s`, `30m`, `1.5h`, `500ms` or `5` (seconds); gives milliseconds, or undefined where it is no time above zero. */
export const parseDuration = (text: string): number | undefined => {
  const time = text.trim()
  return parseTime(/[\d.]$/.test(time) ? `${time}s` : time)
}

/** Writes a time for people: `5 ms`, `0.4 s`, `12 s`, `3 m 05 s`, `2 h 07 m`. */
export const formatDuration = (milliseconds: number): string => {
  const seconds = Math.max(0, milliseconds) / 1_000
  if (milliseconds > 0 && milliseconds < 50) return `${Math.ceil(milliseconds)} ms`
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`
  const whole = Math.round(seconds)
  if (whole < 60) return `${whole} s`
  const minutes = Math.floor(whole / 60)
  if (minutes < 60) return `${minutes} m ${String(whole % 60).padStart(2, "0")} s`
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} m`
}
