/** Proves what the page is made of, how it is served, and that a browser shows a session with it. */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { describe, expect, it } from "vitest"
import { buildPage } from "../scripts/webPage.mjs"
import { atEnd } from "./support/atEnd.ts"
import { accessibilityProblems, withBrowser } from "./support/browser.ts"
import { sandbox } from "./support/cli.ts"
import { startLlm } from "./support/llm.ts"
import { startServer } from "./support/server.ts"
import { until } from "./support/until.ts"

const serve = async () => {
  const place = sandbox()
  atEnd(place.remove)
  const server = await startServer(place)
  atEnd(async () => {
    server.child.kill("SIGKILL")
    await server.ended
  })
  return { ...server, place }
}

/** The most that the first load may be, in bytes, compressed by gzip. */
const mostBytes = 60_000

describe("the page", () => {
  it("is at most 60 KB to load, and names no other origin", async () => {
    const { files } = await buildPage()
    const html = Buffer.from(files.get("index.html") ?? []).toString("utf8")
    const app = [...files.keys()].find((name) => html.includes(name) && name.endsWith(".js")) ?? ""
    // Views that few people open are loaded when they are opened.
    const imported = [...Buffer.from(files.get(app) ?? []).toString("utf8").matchAll(/(?:from|import)"\.\/([^"]+)"/g)]
    const first = new Set([app, ...imported.map(([, name]) => `assets/${name}`)])
    expect(first.size).toBeGreaterThan(1)
    const loaded = [...files].filter(([name]) => !name.endsWith(".js") || first.has(name))
    const sizes = loaded.map(([name, content]) => [name, gzipSync(content, { level: 9 }).length] as const)
    expect(sizes.reduce((sum, [, size]) => sum + size, 0), JSON.stringify(sizes)).toBeLessThanOrEqual(mostBytes)
    const urls = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, url]) => url)
    expect(urls).toHaveLength(3)
    for (const url of urls) expect(url).toMatch(/^\/assets\/\w+-\w+\.(js|css|svg)$/)
    const code = Buffer.concat([...files.values()]).toString("utf8")
    expect(code).not.toMatch(/\beval\(|new Function\(|document\.write|url\(["']?https?:/)
  })

  it("is served to everybody, compressed, with a policy that lets nothing else run", async () => {
    const { url } = await serve()
    const index = await fetch(url)
    expect(index.status).toBe(200)
    expect(index.headers.get("content-security-policy")).toMatch(
      /default-src 'none'.*script-src 'self'.*frame-ancestors 'none'/
    )
    expect(index.headers.get("cache-control")).toBe("no-cache")
    const html = await index.text()
    const script = /src="([^"]+)"/.exec(html)?.[1] ?? ""
    const loaded = await fetch(`${url}${script}`, { headers: { "accept-encoding": "br, gzip" } })
    expect(loaded.headers.get("content-encoding")).toBe("br")
    expect(loaded.headers.get("content-type")).toBe("text/javascript; charset=utf-8")
    expect(loaded.headers.get("cache-control")).toContain("immutable")
    const plain = await fetch(`${url}${script}`, { headers: { "accept-encoding": "br;q=0, gzip;q=0" } })
    expect(plain.headers.get("content-encoding")).toBeNull()
    expect(await plain.text()).toBe(await loaded.text())
    const etag = index.headers.get("etag") ?? ""
    expect((await fetch(url, { headers: { "if-none-match": etag } })).status).toBe(304)
    const head = await fetch(url, { method: "HEAD" })
    expect([head.status, await head.text()]).toEqual([200, ""])
    // Every session and agent has a URL, which a link elsewhere may open; nothing else may be loaded from there.
    const linked = (path: string, dest: string) =>
      fetch(`${url}${path}`, { headers: { "sec-fetch-site": "cross-site", "sec-fetch-dest": dest } })
    expect(await (await linked("/s/ses_1/tree/ses_2", "document")).text()).toBe(html)
    expect((await linked(script, "script")).status).toBe(403)
    expect((await linked("/v1/sessions", "document")).status).toBe(403)
    for (const path of ["/s/../etc", "/s/a/b/c/d", "/assets/none.js", "/page/index.html"]) {
      expect((await fetch(`${url}${path}`)).status, path).toBe(401)
    }
  })
})

it("serve --open hands the browser a file that only the user can read, and the code in no argument", async () => {
  const place = sandbox()
  atEnd(place.remove)
  const told = join(place.home, "told")
  const opener = join(place.home, "bin", "xdg-open")
  mkdirSync(join(place.home, "bin"))
  writeFileSync(
    opener,
    `#!/bin/sh\nprintf '%s\\n' "$#" "$1" > ${told}.new\nstat -c %a "$1" >> ${told}.new\ncat "$1" >> ${told}.new\nmv ${told}.new ${told}\n`
  )
  chmodSync(opener, 0o755)
  const running = place.start(["serve", "--open"], {
    env: { PATH: `${join(place.home, "bin")}:${process.env["PATH"]}` }
  })
  atEnd(async () => {
    running.child.kill("SIGKILL")
    await running.ended
  })
  await until(() => existsSync(told))
  const [count, file, mode, html = ""] = readFileSync(told, "utf8").split("\n")
  expect([count, mode]).toEqual(["1", "600"])
  const url = /^(http:\S+)\n/m.exec(running.output())?.[1] ?? ""
  expect(html).toContain(`content="0;url=${url}"`)
  expect(file).not.toContain(url.split("#code=")[1])
  expect((await place.run(["serve", "--stop", "--open"])).code).toBe(2)
})

withBrowser((tabs) => {
  it("a browser logs in by the code, begins a session, and sees it through", async () => {
    const { line, place, send } = await serve()
    const { context, page, problems } = await tabs.open()
    await page.goto(line)
    await page.getByText("No sessions yet").waitFor()
    expect(page.url()).not.toContain("code")
    expect(await accessibilityProblems(page)).toEqual([])
    await page.getByRole("link", { name: "New session" }).first().click()
    // Before the first session, the server's own directory is proposed.
    await expect.poll(() => page.locator("#new-directory").inputValue(), { timeout: 30_000 }).toBe(place.project)
    await page.getByLabel("Prompt").fill("Survey this project")
    await page.getByRole("button", { name: "Begin" }).click()
    await page.getByRole("treeitem", { name: /^.+, build, done$/ }).waitFor()
    await page.getByText("Live", { exact: true }).waitFor()
    expect(await accessibilityProblems(page)).toEqual([])
    // A second tab of the same browser has the login as well; another browser does not.
    const second = await context.newPage()
    await second.goto(page.url())
    await second.getByRole("treeitem", { name: /, build, done$/ }).waitFor()
    const stranger = await tabs.open()
    await stranger.page.goto(page.url())
    await stranger.page.getByRole("heading", { name: "Log in" }).waitFor()
    expect(await accessibilityProblems(stranger.page)).toEqual([])
    const { json } = await send("/v1/login/code", {})
    await stranger.page.getByLabel("URL or code").fill(json.code)
    await stranger.page.getByRole("button", { name: "Log in" }).click()
    await stranger.page.getByRole("treeitem", { name: /, build, done$/ }).waitFor()
    expect([problems, stranger.problems]).toEqual([[], []])
  })

  it("a prompt runs commands, asks for subagents and attaches files, and an unknown command is refused", async () => {
    const llm = await startLlm(() => "done")
    const place = sandbox({
      llm: llm.url,
      files: { "notes.md": "the notes\n", ".skein/command/greet/all.md": "Greet $1" }
    })
    atEnd(llm.close, place.remove)
    const server = await startServer(place)
    atEnd(async () => {
      server.child.kill("SIGKILL")
      await server.ended
    })
    const { page, problems } = await tabs.open()
    await page.goto(server.line)
    await page.getByRole("link", { name: "New session" }).first().click()
    await expect.poll(() => page.locator("#new-directory").inputValue(), { timeout: 30_000 }).toBe(place.project)
    const begin = async (text: string) => {
      await page.getByLabel("Prompt").fill(text)
      await page.getByRole("button", { name: "Begin" }).click()
    }
    await begin("/inti now")
    await page.getByText("Did you mean \"init\"?").waitFor()
    expect(await page.getByLabel("Prompt").inputValue()).toBe("/inti now")
    expect((await server.send("/v1/sessions")).json.items).toEqual([])
    await begin("/greet/all Ada")
    await page.getByRole("treeitem", { name: /, build, done$/ }).waitFor()
    const say = async (text: string, expected: string | RegExp) => {
      await page.getByRole("textbox", { name: "Prompt" }).fill(text)
      await page.getByRole("button", { name: "Send" }).click()
      await expect.poll(() => llm.requests.flatMap(({ user }) => user).join("\n"), { timeout: 30_000 }).toMatch(
        expected
      )
    }
    await expect.poll(() => llm.requests.flatMap(({ user }) => user).join("\n"), { timeout: 30_000 }).toContain(
      "Greet Ada"
    )
    await say("Read @notes.md and @missing.md", "the notes")
    await page.getByRole("alert").getByText("@missing.md is not attached").waitFor()
    await say("/etc/hosts is a path", "/etc/hosts is a path")
    await page.getByRole("textbox", { name: "Prompt" }).fill("/nope x")
    await page.getByRole("button", { name: "Send" }).click()
    await page.getByRole("alert").getByText("There is no command \"nope\".").waitFor()
    expect(await page.getByRole("textbox", { name: "Prompt" }).inputValue()).toBe("/nope x")
    await say("@explore look around", "The user asks for the subagent explore: call task")
    expect(llm.requests.flatMap(({ user }) => user).join("\n")).not.toMatch(/\/(inti|nope|greet)/)
    expect(problems).toEqual([])
  })

  it("a view that could not be loaded is there once the server is back", async () => {
    const { line } = await serve()
    const { page } = await tabs.open()
    await page.goto(line)
    await page.getByText("No sessions yet").waitFor()
    await page.route("**/assets/*", (route) => route.abort())
    await page.getByRole("link", { name: "New session" }).first().click()
    await page.getByText("This view could not be loaded.").waitFor()
    await page.unroute("**/assets/*")
    await page.getByLabel("Prompt").waitFor()
  })
})
