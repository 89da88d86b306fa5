/**
 * Leaves out of a server's list the tools that the protocol does not allow. The SDK would refuse the whole list for one of
 * them.
 */
import { type JSONRPCMessage, specTypeSchemas, type Transport } from "@modelcontextprotocol/client"
import { cleanLine } from "../cleanText.ts"
import { faultOf } from "../failure.ts"

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const nameOf = (tool: unknown, place: number): string =>
  isRecord(tool) && typeof tool["name"] === "string"
    ? `the tool ${JSON.stringify(cleanLine(tool["name"], 100))}`
    : `the tool at place ${place} of its list`

/** Why a tool cannot be used; undefined if it can. */
const whyNot = (tool: unknown, place: number): string | undefined => {
  const checked = specTypeSchemas.Tool["~standard"].validate(tool)
  return checked.issues === undefined ? undefined : `${nameOf(tool, place)} is left out: ${faultOf(checked.issues)}`
}

/**
 * Puts it between a transport and the client that has been connected over it. The result gives what was left out of the last
 * list, and why.
 */
export const passTools = (transport: Transport): () => ReadonlyArray<string> => {
  const { onmessage, send: sendOn } = transport
  const asked = new Set<unknown>()
  let seen = 0
  let notes: Array<string> = []
  const send: Transport["send"] = (message, options) => {
    if ("method" in message && message.method === "tools/list" && "id" in message) {
      asked.add(message.id)
      // A later page continues the list.
      if (message.params?.["cursor"] === undefined) {
        seen = 0
        notes = []
      }
    }
    return sendOn.call(transport, message, options)
  }
  const usable = (tools: ReadonlyArray<unknown>) =>
    tools.filter((tool) => {
      seen++
      const why = whyNot(tool, seen)
      if (why !== undefined) notes.push(why)
      return why === undefined
    })
  const hear: NonNullable<Transport["onmessage"]> = (message, extra) => {
    if (!("result" in message) || !asked.delete(message.id)) return onmessage?.(message, extra)
    const { tools } = message.result
    if (!Array.isArray(tools)) return onmessage?.(message, extra)
    const passed: JSONRPCMessage = { ...message, result: { ...message.result, tools: usable(tools) } }
    onmessage?.(passed, extra)
  }
  Object.assign(transport, { send, onmessage: hear })
  return () => notes
}
