import { describe, expect, it } from "@effect/vitest"
import { type Address, Network } from "@skein/tools/Network"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import * as zlib from "node:zlib"
import { refuse } from "../src/internal/refusal.ts"
import { isPublicAddress } from "../src/Network.ts"
import { Workspace } from "./workspace.ts"

type Handler = (request: http.IncomingMessage, response: http.ServerResponse) => void

/** A server on this machine, what it was asked, and how it is reached. */
const serving = (handler: Handler) =>
  Effect.acquireRelease(
    Effect.async<{ readonly port: number; readonly asked: Array<http.IncomingMessage>; readonly server: http.Server }>(
      (resume) => {
        const asked: Array<http.IncomingMessage> = []
        const server = http.createServer((request, response) => {
          asked.push(request)
          handler(request, response)
        })
        server.listen(0, "127.0.0.1", () =>
          resume(Effect.succeed({ port: (server.address() as AddressInfo).port, asked, server })))
      }
    ),
    ({ server }) =>
      Effect.sync(() => {
        server.closeAllConnections()
        server.close()
      })
  )

/** Names of a test; `127.0.0.1` stands for a public address, others are what they are. */
const names = (known: Readonly<Record<string, ReadonlyArray<string>>>, resolved: Array<string> = []) =>
  Workspace.layerWith({
    network: Layer.succeed(Network, {
      resolve: (host) => {
        resolved.push(host)
        const found = known[host]
        return found === undefined
          ? refuse("not_found", `The host ${host} was not found.`)
          : Effect.succeed(found.map((address): Address => ({ address, family: address.includes(":") ? 6 : 4 })))
      },
      isPublic: (address) => address === "127.0.0.1" || isPublicAddress(address),
      tellsSecret: () => false
    })
  })

const site = names({ "site.test": ["127.0.0.1"], "www.site.test": ["127.0.0.1"], "other.test": ["127.0.0.1"] })

const answer = (type: string, body: string | Buffer): Handler => (_, response) => {
  response.writeHead(200, { "content-type": type }).end(body)
}

describe("webfetch", () => {
  it.scoped("gives a page as markdown, text or HTML", () =>
    Effect.gen(function*() {
      const { call } = yield* Workspace
      const html =
        "<html><head><title>T</title></head><body><h1>Hi</h1><p>See <a href='/x'>this &amp; that</a>.</p></body></html>"
      const { port } = yield* serving(answer("text/html; charset=utf-8", html))
      const url = `http://site.test:${port}/a/b#part`
      const page = yield* call("webfetch", { url })
      expect(page.output).toBe(`# Hi\n\nSee [this & that](http://site.test:${port}/x).`)
      expect(page.asks).toEqual([{
        permission: "webfetch",
        patterns: [`http://site.test:${port}/a/b`],
        always: [`http://site.test:${port}/*`],
        metadata: { url: `http://site.test:${port}/a/b` }
      }])
      expect((yield* call("webfetch", { url, format: "text" })).output).toBe("Hi\n\nSee this & that.")
      expect((yield* call("webfetch", { url, format: "html" })).output).toBe(html)
    }).pipe(Effect.provide(site)))

  it.scoped("sends no credentials, and asks only at the address that was looked at", () => {
    const resolved: Array<string> = []
    return Effect.gen(function*() {
      const { call } = yield* Workspace
      const { asked, port } = yield* serving(answer("text/plain", "plain <b>"))
      const page = yield* call("webfetch", { url: `http://site.test:${port}/` })
      expect(page.output).toBe("plain <b>")
      expect(resolved).toEqual(["site.test"])
      expect(Object.keys(asked[0]?.headers ?? {}).toSorted()).toEqual([
        "accept",
        "accept-encoding",
        "connection",
        "host",
        "user-agent"
      ])
      expect(asked[0]?.headers.host).toBe(`site.test:${port}`)
    }).pipe(Effect.provide(names({ "site.test": ["127.0.0.1"] }, resolved)))
  })

  it.effect.each([
    "http://127.0.0.2/",
    "http://127.1/",
    "http://2130706434/",
    "http://0x7f.2/",
    "http://0177.0.0.2/",
    "http://0/",
    "http://①②⑦.⓪.⓪.②/",
    "http://localhost/",
    "http://localhost./",
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.2]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[2002:7f00:1::]/",
    "http://169.254.169.254/",
    "http://100.100.100.200/",
    "http://100.64.0.1/",
    "http://10.1.2.3/",
    "http://172.31.0.1/",
    "http://192.168.1.1/",
    "http://[fc00::1]/",
    "http://[fe80::1]/",
    "http://metadata.google.internal./",
    "http://mixed.test/",
    "http://nowhere.test/"
  ])("refuses %s without a connection (S30)", (url) =>
    Effect.gen(function*() {
      const { call } = yield* Workspace
      const error = yield* Effect.flip(call("webfetch", { url }))
      expect(error).toMatchObject({ kind: "blocked", message: expect.stringContaining("not open to everybody") })
    }).pipe(Effect.provide(Workspace.layerWith({
      network: Layer.succeed(Network, {
        // What is an address already is its own; the rest is as a hostile resolver would have it.
        resolve: (host) =>
          Effect.succeed(
            /^[\d.]+$|:/.test(host)
              ? [{ address: host, family: host.includes(":") ? 6 : 4 }]
              : ({
                "localhost": [{ address: "127.0.0.1", family: 4 }],
                "localhost.": [{ address: "::1", family: 6 }],
                "metadata.google.internal.": [{ address: "169.254.169.254", family: 4 }],
                "mixed.test": [{ address: "93.184.216.34", family: 4 }, { address: "10.0.0.1", family: 4 }]
              } as Record<string, ReadonlyArray<Address>>)[host] ?? []
          ),
        isPublic: isPublicAddress,
        tellsSecret: () => false
      })
    }))))

  it.effect("knows what is public by its bytes", () =>
    Effect.sync(() => {
      const open = [
        "93.184.216.34",
        "1.1.1.1",
        "172.15.0.1",
        "172.32.0.1",
        "100.63.255.255",
        "2606:4700::1111",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808"
      ]
      const closed = [
        "0.0.0.0",
        "127.255.255.255",
        "198.19.0.1",
        "192.0.2.1",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:7f00:1",
        "64:ff9b::127.0.0.1",
        "64:ff9b:1::808:808",
        "2001::1",
        "2001:db8::1",
        "2002::1",
        "3fff::1",
        "fd00::1",
        "fe80::1%eth0",
        "ff02::1",
        "4000::1",
        "nonsense",
        "1.2.3",
        ""
      ]
      expect(open.filter((address) => !isPublicAddress(address))).toEqual([])
      expect(closed.filter(isPublicAddress)).toEqual([])
    }))

  it.scoped("looks at every hop of a redirect, and connects to no private one", () =>
    Effect.gen(function*() {
      const { call } = yield* Workspace
      const { asked, port } = yield* serving((request, response) => {
        const to: Record<string, string> = {
          "/once": "/twice",
          "/twice": `http://www.site.test:${port}/there`,
          "/away": "http://other.test/secret",
          "/file": "file:///etc/passwd",
          "/keys": `http://user:pass@site.test:${port}/there`
        }
        const location = request.url?.startsWith("/round") === true ? "/round" : to[request.url ?? ""]
        if (location === undefined) response.writeHead(200, { "content-type": "text/plain" }).end("there")
        else response.writeHead(302, { location }).end()
      })
      const at = (path: string) => call("webfetch", { url: `http://site.test:${port}${path}` })
      expect((yield* at("/once")).output).toBe("there")
      expect((yield* at("/away")).output).toBe(
        `http://site.test:${port}/away redirects to another host. To read on, call webfetch with http://other.test/secret`
      )
      expect((yield* Effect.flip(at("/file"))).message).toContain("Only http and https")
      expect((yield* Effect.flip(at("/keys"))).message).toContain("name or password")
      const before = asked.length
      expect((yield* Effect.flip(at("/round"))).message).toContain("redirects more than 5 times")
      expect(asked.length - before).toBe(6)
    }).pipe(Effect.provide(site)))

  it.scoped("refuses a name that turns private at the second hop (S32)", () => {
    let asked = 0
    const rebinding = Layer.succeed(Network, {
      resolve: () =>
        Effect.sync((): ReadonlyArray<Address> => [{ address: asked++ === 0 ? "127.0.0.1" : "127.0.0.9", family: 4 }]),
      isPublic: (address) => address === "127.0.0.1",
      tellsSecret: () => false
    })
    return Effect.gen(function*() {
      const { call } = yield* Workspace
      const { asked: requests, port } = yield* serving((_, response) =>
        response.writeHead(307, { location: "/again" }).end()
      )
      const error = yield* Effect.flip(call("webfetch", { url: `http://site.test:${port}/` }))
      expect(error).toMatchObject({ kind: "blocked", message: expect.stringContaining("127.0.0.9") })
      expect(requests.length).toBe(1)
    }).pipe(Effect.provide(Workspace.layerWith({ network: rebinding })))
  })

  it.scoped("takes 5 MB and no more, unpacked, however it is packed (S34)", () =>
    Effect.gen(function*() {
      const { call } = yield* Workspace
      const bomb = zlib.gzipSync(Buffer.alloc(50 * 1024 * 1024, "a"))
      const { port } = yield* serving((request, response) => {
        if (request.url === "/bomb") {
          response.writeHead(200, { "content-type": "text/plain", "content-encoding": "gzip" }).end(bomb)
        } else if (request.url === "/small") {
          response.writeHead(200, { "content-type": "text/plain", "content-encoding": "br" }).end(
            zlib.brotliCompressSync("small")
          )
        } else {
          response.writeHead(200, { "content-type": "text/plain" })
          const piece = Buffer.alloc(64 * 1024, "b")
          const more = () => {
            while (response.write(piece));
          }
          response.on("drain", more)
          more()
        }
      })
      const at = (path: string) => call("webfetch", { url: `http://site.test:${port}${path}` })
      expect((yield* Effect.flip(at("/bomb"))).kind).toBe("too_large")
      expect((yield* Effect.flip(at("/endless"))).kind).toBe("too_large")
      expect((yield* at("/small")).output).toBe("small")
    }).pipe(Effect.provide(site)))

  it.scoped("gives up after 30 seconds, and closes the connection", () =>
    Effect.gen(function*() {
      const { call } = yield* Workspace
      let asked = () => {}
      let closed = () => {}
      const isAsked = new Promise<void>((resolve) => asked = resolve)
      const isClosed = new Promise<void>((resolve) => closed = resolve)
      const { port } = yield* serving((_, response) => {
        response.writeHead(200).write("a")
        response.on("close", closed)
        asked()
      })
      const fiber = yield* Effect.fork(call("webfetch", { url: `http://site.test:${port}/` }))
      yield* Effect.promise(() => isAsked)
      yield* TestClock.adjust("30 seconds")
      expect((yield* Effect.flip(Fiber.join(fiber))).kind).toBe("timeout")
      yield* Effect.promise(() => isClosed)
    }).pipe(Effect.provide(site)))

  it.scoped("says what an answer is that is no page", () =>
    Effect.gen(function*() {
      const { call } = yield* Workspace
      const { port, server } = yield* serving((request, response) => {
        if (request.url === "/missing") {
          response.writeHead(404, { "content-type": "text/html" }).end("<h1>Not here</h1>")
        } else if (request.url === "/zip") {
          response.writeHead(200, { "content-type": "application/zip" }).end(Buffer.from("PK\u0003\u0004\0\0"))
        } else if (request.url === "/latin") {
          response.writeHead(200, { "content-type": "text/plain; charset=iso-8859-1" }).end(Buffer.from([0xe9]))
        } else if (request.url === "/png") {
          response.writeHead(200, { "content-type": "image/png" }).end(Buffer.from([0x89, 0x50, 0x4e, 0x47]))
        } else request.destroy()
      })
      const at = (path: string) => call("webfetch", { url: `http://site.test:${port}${path}` })
      expect((yield* Effect.flip(at("/missing"))).message).toBe(
        `http://site.test:${port}/missing answered with status 404. # Not here`
      )
      expect((yield* Effect.flip(at("/zip"))).message).toContain("is application/zip (6 bytes)")
      expect((yield* at("/latin")).output).toBe("é")
      expect((yield* at("/png")).attachments).toEqual([{ mime: "image/png", url: "data:image/png;base64,iVBORw==" }])
      expect((yield* Effect.flip(at("/cut"))).message).toContain(`http://site.test:${port} could not be read`)
      server.closeAllConnections()
    }).pipe(Effect.provide(site)))

  it.effect("refuses what is no web address before anybody is asked", () =>
    Effect.gen(function*() {
      const { asks } = yield* Workspace
      for (
        const url of [
          "example.com",
          "ftp://example.com/",
          "file:///etc/passwd",
          "javascript:alert(1)",
          "http://u:p@example.com/",
          "http://"
        ]
      ) {
        expect((yield* Effect.flip(asks("webfetch", { url }))).kind, url).toBe("invalid_arguments")
      }
    }).pipe(Effect.provide(site)))

  it.effect("asks each time for a URL that would tell a secret of the environment (S35)", () =>
    Effect.gen(function*() {
      const { asks } = yield* Workspace
      for (
        const url of [
          "https://example.com/?q=sk-test-SECRET",
          "https://example.com/sk-test-SECRET/x",
          "https://example.com/?q=%73k-%74est-SECRET",
          "https://example.com/?q=sk%2dtest%2dSECRET&x=%"
        ]
      ) {
        expect(yield* asks("webfetch", { url }), url).toEqual([
          expect.objectContaining({ permission: "webfetch", protected: true, always: [] })
        ])
      }
      expect(yield* asks("webfetch", { url: "https://example.com/?q=sk-test" })).toEqual([
        {
          permission: "webfetch",
          patterns: ["https://example.com/?q=sk-test"],
          always: ["https://example.com/*"],
          metadata: { url: "https://example.com/?q=sk-test" }
        }
      ])
    }).pipe(Effect.provide(Workspace.layer)))

  it.scoped("goes past every proxy of the environment (S35)", () =>
    Effect.gen(function*() {
      const { call } = yield* Workspace
      const page = yield* serving(answer("text/plain", "page"))
      const proxy = yield* serving(answer("text/plain", "proxy"))
      const names = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "NODE_USE_ENV_PROXY"]
      yield* Effect.acquireRelease(
        Effect.sync(() => names.forEach((name) => process.env[name] = `http://127.0.0.1:${proxy.port}`)),
        () => Effect.sync(() => names.forEach((name) => delete process.env[name]))
      )
      expect((yield* call("webfetch", { url: `http://site.test:${page.port}/` })).output).toBe("page")
      expect(proxy.asked).toEqual([])
    }).pipe(Effect.provide(site)))
})
