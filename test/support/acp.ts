/** A client of the Agent Client Protocol that starts the built program, and checks every frame. */
import { type Frame, makeChecker } from "@skein/testing/AcpFrames"
import { expect } from "vitest"
import type { Sandbox } from "./cli.ts"

/** What the agent asks, and what it is answered. */
type Answers = Readonly<Record<string, (params: Record<string, unknown>) => unknown>>

/** A client. */
export interface AcpClient {
  readonly request: (method: string, params: object) => Promise<Record<string, unknown>>
  readonly notify: (method: string, params: object) => void
  /** The updates so far. */
  readonly updates: ReadonlyArray<{ readonly sessionId: string; readonly update: Record<string, unknown> }>
  /** Closes the connection, as an editor that quits; resolves when the program has ended. */
  readonly close: () => Promise<{ readonly code: number | null; readonly stderr: string }>
  /** Reads no more, and keeps the other pipe open; resolves with the exit code. */
  readonly hangUp: () => Promise<number | null>
  /** Kills nothing and says nothing: only the pipes are closed. */
  readonly pid: number
}

/** Starts the program and initialises it. */
export const startAcp = async (
  place: Sandbox,
  { answers = {}, args = [], capabilities = {} }: {
    readonly answers?: Answers
    readonly args?: ReadonlyArray<string>
    readonly capabilities?: object
  } = {}
): Promise<AcpClient> => {
  const check = makeChecker(!("subagents" in capabilities))
  const { child, ended } = place.start(["acp", ...args], { silent: true, unread: true })
  const wrong: Array<string> = []
  const updates: Array<{ readonly sessionId: string; readonly update: Record<string, unknown> }> = []
  const open = new Map<number, { readonly resolve: (frame: Frame) => void }>()
  let last = 0
  let stderr = ""
  let rest = ""
  const send = (frame: Frame) => {
    wrong.push(...check("client", frame))
    child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", ...frame })}\n`)
  }
  const receive = async (frame: Frame) => {
    wrong.push(...check("agent", frame))
    if (frame.method === undefined) return open.get(Number(frame.id))?.resolve(frame)
    if (frame.method === "session/update") return updates.push(frame.params as never)
    const answer = await answers[frame.method]?.(frame.params ?? {})
    if (frame.id !== undefined && answer !== undefined) {
      send({ id: frame.id, result: answer as Record<string, unknown> })
    }
  }
  child.stderr?.setEncoding("utf8").on("data", (text: string) => stderr += text)
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    const lines = `${rest}${text}`.split("\n")
    rest = lines.pop() ?? ""
    // Anything else on standard output would break the connection.
    for (const line of lines) void receive(JSON.parse(line) as Frame)
  })
  const request = async (method: string, params: object) => {
    const id = ++last
    const answer = await new Promise<Frame>((resolve) => {
      open.set(id, { resolve })
      send({ id, method, params: params as Record<string, unknown> })
    })
    if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`)
    return answer.result ?? {}
  }
  await request("initialize", { protocolVersion: 1, clientCapabilities: capabilities })
  return {
    request,
    notify: (method, params) => send({ method, params: params as Record<string, unknown> }),
    updates,
    pid: child.pid ?? 0,
    hangUp: async () => {
      child.stdout?.destroy()
      return (await ended).code
    },
    close: async () => {
      child.stdin?.end()
      const { code } = await ended
      expect(wrong).toEqual([])
      return { code, stderr }
    }
  }
}
