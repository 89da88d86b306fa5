/** Decides how to report that a server cannot listen. */
import * as Schema from "effect/Schema"

/** The address cannot be listened on. */
export class ListenFailed extends Schema.TaggedError<ListenFailed>()("ListenFailed", {
  /** The system's code, such as `EADDRINUSE`. */
  code: Schema.String,
  message: Schema.String
}) {
  /** Says what is wrong with an address, and how to fix it. */
  static readonly explain = (hostname: string, port: number, code: string, message: string): string => {
    switch (code) {
      case "EADDRINUSE":
        return `The port ${port} of ${hostname} is in use. Choose another one with --port, or leave it out.`
      case "EACCES":
        return `The port ${port} is not open to you. Choose one above 1023 with --port.`
      case "EADDRNOTAVAIL":
      case "ENOTFOUND":
        return `${hostname} is not an address of this machine. Choose another one with --hostname.`
      default:
        return `${hostname}:${port} cannot be listened on (${message}).`
    }
  }
}
