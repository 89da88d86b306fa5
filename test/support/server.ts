/** A server of the built program, as other programs find and use it. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { Ended, Sandbox } from "./cli.ts"
import { until } from "./until.ts"

/** The content of a server's file. */
export interface ServerFile {
  readonly url: string
  readonly pid: number
  readonly version: string
  readonly token: string
}

/** The directory of server files. */
export const serversOf = (place: Sandbox): string => join(place.home, "data", "skein", "servers")

/** The content of the file of the only server; undefined if there is none. */
export const serverFile = (place: Sandbox): ServerFile | undefined => {
  const found = readdirSync(serversOf(place)).find((name) => name.endsWith(".json"))
  return found === undefined ? undefined : JSON.parse(readFileSync(join(serversOf(place), found), "utf8"))
}

/** An event as received. */
export interface Sent {
  readonly id: string | undefined
  readonly type: string
  readonly data: { readonly seq?: number; readonly sessionID?: string; readonly properties?: Record<string, unknown> }
}

const sentOf = (block: string): Sent | undefined => {
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1]
  const data = field("data")
  return data === undefined ? undefined : { id: field("id"), type: field("event") ?? "", data: JSON.parse(data) }
}

/** Starts `skein serve`, and returns once it has printed its URL. */
export const startServer = async (place: Sandbox, args: ReadonlyArray<string> = []) => {
  const running = place.start(["serve", ...args])
  let isOver = false
  void running.ended.then(() => isOver = true)
  const line = await until(() => {
    if (isOver) throw new Error(`The server ended: ${running.output()}`)
    return /^(https?:\S+)\n/m.exec(running.output())?.[1]
  })
  const found = serverFile(place)
  if (found === undefined) throw new Error("The server has no file")
  const { token, url, version } = found

  const send = async (
    path: string,
    body?: unknown,
    method = body === undefined ? "GET" : "POST",
    headers: Readonly<Record<string, string>> = {}
  ) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    const text = await response.text()
    const retryAfter = response.headers.get("retry-after")
    return { status: response.status, retryAfter, json: text === "" ? undefined : JSON.parse(text) }
  }

  /** Reads events until one matches, and returns all of them; `after` is the last known id. */
  const follow = async (session: string, after: string | undefined, isLast: (event: Sent) => boolean) => {
    const came: Array<Sent> = []
    const abort = new AbortController()
    const response = await fetch(`${url}/v1/sessions/${session}/events`, {
      signal: abort.signal,
      headers: { authorization: `Bearer ${token}`, ...(after === undefined ? {} : { "last-event-id": after }) }
    })
    let rest = ""
    try {
      for await (const piece of (response.body ?? []) as AsyncIterable<Uint8Array>) {
        const blocks = `${rest}${Buffer.from(piece).toString("utf8")}`.split("\n\n")
        rest = blocks.pop() ?? ""
        for (const block of blocks) {
          const sent = sentOf(block)
          if (sent === undefined) continue
          came.push(sent)
          if (isLast(sent)) return came
        }
      }
    } catch {
      // The server was killed: the events until then count.
    } finally {
      abort.abort()
    }
    return came
  }

  const ended: Promise<Ended> = running.ended
  return { ...running, ended, line, url, token, version, pid: found.pid, send, follow }
}
