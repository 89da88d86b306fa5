import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client"
import { expect, it } from "vitest"
import { passAnswers } from "../../src/internal/passAnswers.ts"

it("a later page that never comes ends its list after a time; the first one may take longer", async () => {
  const heard: Array<JSONRPCMessage> = []
  let tell = () => {}
  const ended = new Promise<void>((resolve) => {
    tell = resolve
  })
  const transport: Transport = {
    start: () => Promise.resolve(),
    close: () => Promise.resolve(),
    send: () => Promise.resolve(),
    onmessage: (message) => {
      heard.push(message)
      if (heard.length === 2) tell()
    }
  }
  const leftOut = passAnswers(transport, 1)
  await transport.send({ jsonrpc: "2.0", id: 1, method: "prompts/list", params: {} })
  transport.onmessage?.({ jsonrpc: "2.0", id: 1, result: { prompts: [{ name: "a" }], nextCursor: "2" } })
  await transport.send({ jsonrpc: "2.0", id: 2, method: "prompts/list", params: { cursor: "2" } })
  await ended
  expect(heard).toMatchObject([{ id: 1, result: { nextCursor: "2" } }, { id: 2, result: { prompts: [] } }])
  expect(leftOut("prompts/list")).toEqual([
    "page 2 of its list of prompts failed, so only what came before is used: it did not come within 0.001 s"
  ])
})
