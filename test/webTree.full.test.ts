/** Proves that a person can watch, answer, steer and stop a tree of agents in a real browser. */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { accessibilityProblems, withBrowser } from "./support/browser.ts"
import { sandbox } from "./support/cli.ts"
import { delegate, leads, startFlock, type Steps } from "./support/flock.ts"
import { startServer } from "./support/server.ts"
import { until } from "./support/until.ts"

const flock = async (steps: (gate: (name: string) => Promise<void>) => Steps) => {
  const llm = await startFlock(steps)
  atEnd(llm.close)
  const place = sandbox({ llm: llm.url, files: { "a.ts": "const a = 1\n" } })
  atEnd(place.remove)
  mkdirSync(join(place.home, "config", "skein"), { recursive: true })
  writeFileSync(join(place.home, "config", "skein", "skein.json"), leads)
  const serve = async (args: ReadonlyArray<string> = []) => {
    const server = await startServer(place, args)
    atEnd(async () => {
      server.child.kill("SIGKILL")
      await server.ended
    })
    return server
  }
  const server = await serve()
  const begin = async (text: string) => {
    const { json } = await server.send("/v1/sessions", { directory: place.project, title: "The whole job" })
    await server.send(`/v1/sessions/${json.id}/prompt`, { text })
    return json.id as string
  }
  return { llm, place, server, serve, begin }
}

const item = (page: Page, name: RegExp | string) => page.getByRole("treeitem", { name })

const login = async (page: Page, line: string) => {
  await page.goto(line)
  await page.getByText("Live", { exact: true }).waitFor()
}

const words = ["one", "two", "three", "four", "five", "six", "seven", "eight"]

withBrowser((tabs) => {
  it("a run with 8 subagents is watched from start to end, and answered, told and stopped on the way", async () => {
    const { begin, llm, server } = await flock((gate) => ({
      Go: [
        delegate(Object.fromEntries(words.map((word) => [word, word === "two" ? "lead" : "general"]))),
        "All is done."
      ],
      one: ["One is done."],
      two: [delegate({ deep: "general" }), "Two is done."],
      deep: [
        { calls: [{ tool: "bash", args: { command: "rm -rf 'a b' \u202e", description: "Removes it" } }] },
        "Deep is done."
      ],
      three: [async () => (await gate("never"), "three")],
      four: [
        { calls: [{ tool: "read", args: { filePath: "a.ts" } }] },
        async () => (await gate("told"), "So far."),
        "Four heard."
      ],
      five: [{ status: 400, message: "No such model." }],
      six: [{
        calls: [{ tool: "edit", args: { filePath: "a.ts", oldString: "const a = 1", newString: "const a = 2" } }]
      }, "ok"]
    }))
    const id = await begin("Go")
    const { page, problems } = await tabs.open()
    await login(page, server.line)

    // The list shows first what needs a person, and answers can be given there.
    const asks = page.getByRole("group", { name: "Needs you" })
    await asks.getByText("build › general asks for permission: edit").waitFor()
    await asks.getByRole("link", { name: "build › lead › general" }).waitFor()
    expect(await accessibilityProblems(page)).toEqual([])
    await page.getByRole("region", { name: /^Needs you 1/ }).getByRole("link", { name: /The whole job/ }).click()

    // Each agent has a row that says what it does.
    await item(page, "Look at one, general, done").waitFor()
    await item(page, /^Look at deep, general, asks: bash/).waitFor()
    await item(page, /^Look at five, general, failed: .*No such model/).waitFor()
    await item(page, /^Look at three, general, thinks/).waitFor()
    expect(await item(page, "Look at deep").getAttribute("aria-level")).toBe("3")
    expect(await item(page, "Look at one").getAttribute("aria-description")).toMatch(/gpt-5, .*110 tokens/)
    expect(await item(page, "Look at four").getAttribute("aria-description")).toContain("read a.ts")
    expect(await accessibilityProblems(page)).toEqual([])

    // A question from depth 2 shows exactly what would happen; its answer is confirmed by the event.
    const deep = asks.getByRole("article", { name: /build › lead › general/ })
    expect(await deep.locator("pre").first().textContent()).toBe("rm -rf 'a b' \\u{202e}")
    await deep.getByRole("button", { name: "Allow once" }).click()
    await deep.waitFor({ state: "detached" })
    await item(page, "Look at deep, general, done").waitFor()
    const edit = asks.getByRole("article", { name: /edit/ })
    expect(await edit.getByRole("group", { name: "Change" }).textContent()).toMatch(/const a = 1.*const a = 2/s)
    await edit.getByRole("button", { name: "Reject" }).click()
    await asks.waitFor({ state: "detached" })

    // A child is stopped; another one gets a message, and has it in its transcript.
    await item(page, "Look at three").getByRole("button", { name: "Stop Look at three" }).click()
    await item(page, /^Look at three, general, stopped: by/).waitFor()
    await item(page, "Look at four").click()
    const field = page.getByRole("textbox", { name: "Message to Look at four" })
    await field.fill("Mind the gap.")
    await page.getByRole("button", { name: "Send" }).click()
    // The field empties when the message has arrived. Only then may the child answer: it could end before it.
    await until(async () => await field.inputValue() === "")
    llm.open("told")
    await page.getByRole("article").filter({ hasText: "Mind the gap." }).waitFor()
    expect(page.url()).toContain(`/s/${id}/tree/ses_`)

    await item(page, "The whole job, build, done").waitFor()
    // The transcript shows a message before the model has it.
    expect(llm.requests.some(({ user }) => user.some((text) => text.includes("Mind the gap.")))).toBe(true)
    expect(problems).toEqual([])
  })

  it("a session that the page begins works from its first turn on, and waits for its subagents", async () => {
    const { llm, place, server } = await flock((gate) => ({
      Go: [delegate({ one: "general", two: "general" }), "All is done."],
      one: [async () => (await gate("one"), "One is done.")],
      two: [{ calls: [{ tool: "bash", args: { command: "rm -rf b", description: "Removes it" } }] }, "Two is done."]
    }))
    const { page, problems } = await tabs.open()
    await page.goto(server.line)
    await page.getByRole("link", { name: "New session" }).first().click()
    await expect.poll(() => page.locator("#new-directory").inputValue(), { timeout: 30_000 }).toBe(place.project)
    await page.getByLabel("Prompt").fill("Go")
    await page.getByRole("button", { name: "Begin" }).click()
    console.log(
      await page.getByRole("treeitem").evaluateAll((all) =>
        all.map((e) => e.getAttribute("aria-label") ?? e.textContent)
      )
    )
    await item(page, /^Look at one, general, thinks/).waitFor()
    await item(page, /^Look at two, general, asks: bash/).waitFor()
    await item(page, /, build, waits for its subagents$/).waitFor()
    expect(await page.getByRole("button", { name: /^Resume/ }).count()).toBe(0)
    await page.getByRole("button", { name: "Allow once" }).first().click()
    llm.open("one")
    await item(page, /, build, done$/).waitFor()
    expect(problems).toEqual([])
  })

  it("a server that is killed and started again shows itself as lost, and then everything as it is", async () => {
    const { begin, llm, serve, server } = await flock((gate) => ({
      Go: [delegate({ one: "general", two: "general" }), "All is done."],
      one: [async () => (await gate("one"), "One is done.")],
      two: ["Two is done."]
    }))
    const id = await begin("Go")
    const { page, problems } = await tabs.open()
    await login(page, server.line)
    await page.goto(`${server.url}/s/${id}`)
    await item(page, "Look at two, general, done").waitFor()
    server.child.kill("SIGKILL")
    await server.ended
    await page.getByText(/^(Reconnecting|Disconnected)$/).waitFor()
    llm.open("one")
    await serve(["--port", new URL(server.url).port])
    await page.getByText("Live", { exact: true }).waitFor()
    await item(page, "The whole job, build, done").waitFor()
    await item(page, "Look at one, general, done").waitFor()
    expect(await page.getByRole("treeitem").count()).toBe(3)
    await page.getByRole("link", { name: "Transcript" }).click()
    await page.getByText("All is done.").waitFor()
    expect(problems).toEqual([])
  })

  it("nothing that a model writes runs, loads anything, or hides", async () => {
    const hostile = [
      "<img src=x onerror=\"window.hacked = 1\"><script>window.hacked = 2</script>",
      "[click](javascript:window.hacked=3) [out](https://example.com/x) ![pixel](http://127.0.0.1:9/pixel.png)",
      "<iframe src=\"http://127.0.0.1:9/\"></iframe><style>body{display:none}</style><a href=\"data:text/html,x\">y</a>",
      "&lt;b&gt; **bold** `code` <svg onload=alert(1)>",
      "```html\n<script>window.hacked = 4</script>\n```"
    ].join("\n\n")
    const { begin, server } = await flock(() => ({
      Go: [delegate({ "<b>one</b>": "general" }), hostile],
      "<b>one</b>": [hostile]
    }))
    const id = await begin("Go")
    const { context, page } = await tabs.open()
    const foreign: Array<string> = []
    context.on("request", (request) => {
      if (!request.url().startsWith(server.url)) foreign.push(request.url())
    })
    await login(page, server.line)
    await page.goto(`${server.url}/s/${id}/transcript`)
    await page.getByRole("heading", { name: "The whole job" }).first().waitFor()
    await page.locator(".markdown strong", { hasText: "bold" }).waitFor()
    expect(await page.evaluate(() => Reflect.get(globalThis, "hacked"))).toBeUndefined()
    expect(foreign).toEqual([])
    const links = await page.locator(".markdown a").evaluateAll((all) => all.map((each) => each.getAttribute("href")))
    expect(links).toEqual([null, "https://example.com/x", "http://127.0.0.1:9/pixel.png"])
    expect(await page.locator(".markdown :is(script, img, iframe, style, svg)").count()).toBe(0)
    await page.locator(".markdown pre", { hasText: "window.hacked = 4" }).waitFor()
    await page.getByRole("link", { name: "Tree" }).click()
    await item(page, "Look at <b>one</b>, general, done").waitFor()
    expect(await accessibilityProblems(page)).toEqual([])
  })

  describe("by the keyboard alone", () => {
    it("the tree is moved through, and an agent is stopped, told and opened", async () => {
      const { begin, server } = await flock((gate) => ({
        Go: [delegate({ one: "lead", two: "general" }), "All is done."],
        one: [delegate({ below: "general" }), "One is done."],
        below: [async () => (await gate("never"), "x")],
        two: [async () => (await gate("never"), "x")]
      }))
      const id = await begin("Go")
      const { page, problems } = await tabs.open()
      await login(page, server.line)
      await page.goto(`${server.url}/s/${id}`)
      await item(page, /^Look at below/).waitFor()
      await item(page, /^Look at two/).waitFor()
      // From the beginning of the page by Tab.
      const focused = () => page.evaluate(() => Reflect.get(globalThis, "document").activeElement?.getAttribute("role"))
      for (let at = 0; at < 30 && await focused() !== "tree"; at++) await page.keyboard.press("Tab")
      expect(await focused()).toBe("tree")
      const selected = () => page.locator("[role=treeitem][aria-selected=true]").getAttribute("aria-label")
      await page.keyboard.press("ArrowDown")
      expect(await selected()).toContain("Look at one")
      await page.keyboard.press("ArrowLeft")
      await item(page, /^Look at below/).waitFor({ state: "detached" })
      await page.keyboard.press("ArrowRight")
      await page.keyboard.press("ArrowRight")
      expect(await selected()).toContain("Look at below")
      await page.keyboard.press("s")
      await item(page, /^Look at below, general, stopped/).waitFor()
      await page.keyboard.press("End")
      expect(await selected()).toContain("Look at two")
      await page.keyboard.press("m")
      await page.keyboard.type("Hurry.")
      await page.keyboard.press("Enter")
      await page.getByRole("textbox", { name: "Message to Look at two" }).waitFor()
      await page.getByRole("link", { name: "Tree" }).focus()
      for (let at = 0; at < 10 && await focused() !== "tree"; at++) await page.keyboard.press("Tab")
      await page.keyboard.press("Enter")
      await page.waitForURL(/\/transcript\/ses_/)
      await page.getByRole("heading", { name: "Look at two" }).waitFor()
      expect(problems).toEqual([])
    })
  })

  it.each([
    { width: 375, height: 700 },
    { width: 3840, height: 2160 }
  ])("the page fits $width pixels, in each of its views", async (size) => {
    const { begin, server } = await flock((gate) => ({
      Go: [delegate(Object.fromEntries(words.map((word) => [word, "general"]))), "All is done."],
      one: [{ calls: [{ tool: "bash", args: { command: "touch x; rm y", description: "Makes it" } }] }],
      two: [async () => (await gate("never"), "x")]
    }))
    const id = await begin("Go")
    const { page } = await tabs.open(size)
    await login(page, server.line)
    for (const path of ["", `/s/${id}`, `/s/${id}/timeline`, `/s/${id}/transcript`, "/s/new"]) {
      await page.goto(`${server.url}${path}`)
      await page.getByText("Live", { exact: true }).waitFor()
      if (path !== "/s/new") await page.getByRole("button", { name: "Allow once" }).waitFor()
      const { clientWidth, scrollWidth } = await page.locator("#content").evaluate((content) => ({
        clientWidth: content.clientWidth,
        scrollWidth: content.scrollWidth
      }))
      expect(scrollWidth, path).toBeLessThanOrEqual(clientWidth)
      expect(await accessibilityProblems(page), path).toEqual([])
    }
  })
})
