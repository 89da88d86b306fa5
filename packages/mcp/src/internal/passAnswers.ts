/**
 * Makes the SDK take answers that it would refuse whole: lists with tools that the protocol does not allow, lists whose later
 * pages fail, and structured content other than objects.
 */
import { type JSONRPCMessage, specTypeSchemas, type Transport } from "@modelcontextprotocol/client"
import { cleanLine } from "./content.ts"
import { faultOf } from "./failure.ts"

/** The lists of servers, and where their answers have them. */
const lists = {
  "tools/list": "tools",
  "prompts/list": "prompts",
  "resources/list": "resources",
  "resources/templates/list": "resourceTemplates"
} as const

/** The method that asks for a list. */
export type ListMethod = keyof typeof lists

/** How long a later page of a list may take, in milliseconds: less than the list. */
const patience = 20_000

type Record = Readonly<{ [key: string]: unknown }>

const isRecord = (value: unknown): value is Record =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isList = (method: string): method is ListMethod => Object.hasOwn(lists, method)

const nameOf = (tool: unknown, place: number): string =>
  isRecord(tool) && typeof tool["name"] === "string"
    ? `the tool ${JSON.stringify(cleanLine(tool["name"], 100))}`
    : `the tool at place ${place} of its list`

/** Why a tool cannot be used; undefined if it can. */
const whyNot = (tool: unknown, place: number): string | undefined => {
  const checked = specTypeSchemas.Tool["~standard"].validate(tool)
  return checked.issues === undefined ? undefined : `${nameOf(tool, place)} is left out: ${faultOf(checked.issues)}`
}

/** A result with structured content other than an object as text, since older revisions allow only objects. */
const withoutStructure = (result: Record): Record => {
  const { content, structuredContent, ...rest } = result
  if (structuredContent === undefined || isRecord(structuredContent)) return result
  const isEmpty = !Array.isArray(content) || content.length === 0
  const text = JSON.stringify(structuredContent, undefined, 2)
  return { ...rest, content: isEmpty ? [{ type: "text", text }] : content }
}

/** The same for the result of a task, which is inside the description of the task. */
const read = (result: Record): Record =>
  isRecord(result["result"]) ? { ...result, result: withoutStructure(result["result"]) } : withoutStructure(result)

/** A list that is being read, page by page. */
interface Reading {
  page: number
  /** How many tools were on its pages. */
  seen: number
  readonly notes: Array<string>
}

/** One request for a page. */
interface Asked {
  readonly method: ListMethod
  readonly reading: Reading
  readonly page: number
}

/**
 * Puts it between a transport and the client that has been connected over it. The result gives what was left out of the last
 * list of a kind, and why. `longest` is how long a later page may take, in milliseconds.
 */
export const passAnswers = (
  transport: Transport,
  longest = patience
): (method: ListMethod) => ReadonlyArray<string> => {
  const { onmessage, send: sendOn } = transport
  const asked = new Map<unknown, Asked>()
  const readings = new Map<ListMethod, Reading>()
  const pass = (id: string | number, result: Record, extra?: Parameters<NonNullable<Transport["onmessage"]>>[1]) =>
    onmessage?.({ jsonrpc: "2.0", id, result } as JSONRPCMessage, extra)
  /** Ends the list before a page that failed. */
  const end = (id: string | number, { method, page, reading }: Asked, why: string) => {
    const [list] = method.split("/")
    reading.notes.push(`page ${page} of its list of ${list} failed, so only what came before is used: ${why}`)
    // The fields of 2026-07-28 do no harm to older ones.
    pass(id, { resultType: "complete", ttlMs: 0, cacheScope: "private", [lists[method]]: [] })
  }
  const send: Transport["send"] = (message, options) => {
    if ("method" in message && "id" in message && isList(message.method)) {
      const { id, method } = message
      const known = message.params?.["cursor"] === undefined ? undefined : readings.get(method)
      const reading = known ?? { page: 0, seen: 0, notes: [] }
      readings.set(method, reading)
      reading.page += 1
      const request = { method, reading, page: reading.page }
      asked.set(id, request)
      if (reading.page > 1) {
        AbortSignal.timeout(longest).addEventListener("abort", () => {
          if (asked.delete(id)) end(id, request, `it did not come within ${longest / 1_000} s`)
        })
      }
    }
    return sendOn.call(transport, message, options)
  }
  const usable = (tools: ReadonlyArray<unknown>, reading: Reading) =>
    tools.filter((tool) => {
      reading.seen++
      const why = whyNot(tool, reading.seen)
      if (why !== undefined) reading.notes.push(why)
      return why === undefined
    })
  const hear: NonNullable<Transport["onmessage"]> = (message, extra) => {
    if ("method" in message || message.id === undefined) return onmessage?.(message, extra)
    const { id } = message
    const request = asked.get(id)
    asked.delete(id)
    if (request === undefined) {
      return "result" in message && isRecord(message.result)
        ? pass(id, read(message.result), extra)
        : onmessage?.(message, extra)
    }
    const { method, page, reading } = request
    const found: unknown = "result" in message ? Object(message.result)[lists[method]] : undefined
    if (page > 1 && !Array.isArray(found)) {
      const why = "error" in message ? cleanLine(message.error.message, 300) : "it is not a list"
      return end(id, request, why.replace(/\.+$/, ""))
    }
    if (method !== "tools/list" || !("result" in message) || !Array.isArray(found)) return onmessage?.(message, extra)
    pass(id, { ...message.result, tools: usable(found, reading) }, extra)
  }
  Object.assign(transport, { send, onmessage: hear })
  return (method) => readings.get(method)?.notes ?? []
}
