/** Requests to hosts that a stranger named: which are sent, and where. */
import { makePublicFetch } from "@skein/tools/PublicFetch"
import * as Effect from "effect/Effect"
import { createServer } from "node:https"
import type { AddressInfo } from "node:net"
import { afterEach, expect, it } from "vitest"
import { isPublicAddress } from "../src/Network.ts"
import { certificate, key } from "./support/certificate.ts"

const closing: Array<() => void> = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

/** A server, and requests to it; names lead to these addresses, and `isPublic` says which are open to everybody. */
const world = async (addresses: ReadonlyArray<string>, isPublic = isPublicAddress) => {
  const seen: Array<string> = []
  const server = createServer({ key, cert: certificate }, (request, response) => {
    let body = ""
    request.on("data", (bytes: Buffer) => body += bytes.toString("utf8"))
    request.once("end", () => {
      seen.push(`${request.method} ${request.url} ${body}`)
      if (request.url === "/away") return void response.writeHead(302, { location: "https://10.0.0.1/" }).end()
      response.writeHead(200, { "content-type": "application/json" })
      response.end(request.url === "/huge" ? "x".repeat(2 * 1024 * 1024) : "{\"a\":1}")
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  closing.push(() => {
    server.close()
    server.closeAllConnections()
  })
  const resolve = () => Effect.succeed(addresses.map((address) => ({ address, family: 4 as const })))
  const { port } = server.address() as AddressInfo
  return { seen, send: makePublicFetch({ resolve, isPublic }, certificate), at: `https://auth.example:${port}` }
}

it("a request goes to the address that was looked at, with its body", async () => {
  const { at, seen, send } = await world(["127.0.0.1"], () => true)
  const answer = await send(`${at}/token`, { method: "POST", body: new URLSearchParams({ a: "b" }) })
  expect(await answer.json()).toEqual({ a: 1 })
  expect(seen).toEqual(["POST /token a=b"])
})

it("a redirect is not followed, and an endless answer is not read", async () => {
  const { at, seen, send } = await world(["127.0.0.1"], () => true)
  expect((await send(`${at}/away`)).status).toBe(302)
  await expect(send(`${at}/huge`)).rejects.toThrow("answered with more than 1024 KB")
  expect(seen).toHaveLength(2)
})

it.each([
  ["a private address", ["10.0.0.1"], ""],
  ["an address of this machine", ["127.0.0.1"], ""],
  ["an address of a cloud's metadata", ["169.254.169.254"], ""],
  ["one private address among others", ["93.184.216.34", "192.168.0.1"], ""],
  ["no address", [], ""]
])("nothing is sent to a host with %s", async (_, addresses) => {
  const { at, seen, send } = await world(addresses)
  await expect(send(at)).rejects.toThrow("is not open to everybody")
  expect(seen).toEqual([])
})

it.each(["http://auth.example/", "https://user:pass@auth.example/", "file:///etc/passwd"])(
  "nothing is sent to %s",
  async (url) => {
    const { send } = await world(["93.184.216.34"], () => true)
    await expect(send(url)).rejects.toThrow("only https URLs without a password are")
  }
)
