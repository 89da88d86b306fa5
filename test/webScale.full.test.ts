/** Proves that the page shows long lists and large trees, and draws no more of them than can be seen. */
import { expect, it } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { accessibilityProblems, withBrowser } from "./support/browser.ts"
import { sandbox } from "./support/cli.ts"
import { startServer } from "./support/server.ts"
import { largeTree } from "./support/treeData.ts"

const serve = async () => {
  const place = sandbox()
  atEnd(place.remove)
  const server = await startServer(place)
  atEnd(async () => {
    server.child.kill("SIGKILL")
    await server.ended
  })
  const create = async (title: string) => (await server.send("/v1/sessions", { directory: place.project, title })).json
  return { ...server, create }
}

withBrowser((tabs) => {
  it("a list of 1,000 sessions is whole, reached by scrolling, and drawn as far as it is seen", async () => {
    const { create, line } = await serve()
    const titles = Array.from({ length: 1_000 }, (_, at) => `Session number ${at}`)
    for (let at = 0; at < titles.length; at += 50) await Promise.all(titles.slice(at, at + 50).map(create))
    const { page, problems } = await tabs.open()
    await page.goto(line)
    await page.getByRole("button", { name: "Show all 1000 drafts" }).click()
    await page.getByRole("link", { name: /Session number \d+/ }).first().waitFor()
    expect(await page.getByRole("listitem").count()).toBeLessThan(80)
    expect(await page.getByRole("listitem").first().getAttribute("aria-setsize")).toBe("1000")
    await page.locator("#content").evaluate((content) => content.scrollTop = content.scrollHeight)
    await page.locator("[aria-posinset='1000']").waitFor()
    expect(await page.getByRole("listitem").count()).toBeLessThan(80)
    expect(await accessibilityProblems(page)).toEqual([])
    expect(problems).toEqual([])
  })

  it("5,000 spans of 100 agents are lanes that zoom, pan and describe themselves in words", async () => {
    const { create, line, url } = await serve()
    const root = await create("A large tree")
    const { timeline, tree } = largeTree(root, 100, 5_000)
    const { context, page, problems } = await tabs.open()
    await context.route(/\/v1\/sessions\/[^/]+\/tree$/, (route) => route.fulfill({ json: tree }))
    await context.route(/\/v1\/sessions\/[^/]+\/timeline$/, (route) => route.fulfill({ json: timeline }))
    await page.goto(line)
    await page.getByText("Live", { exact: true }).waitFor()
    await page.goto(`${url}/s/${root.id}/timeline`)
    const lane = page.getByRole("option", { name: /^Task 1, general, working: .*model works 6\.4 s/ })
    await lane.waitFor()
    expect(await page.getByRole("option").count()).toBeLessThan(60)
    // As many shapes as there are kinds, however many spans there are.
    expect(await lane.locator("path.model").count()).toBe(1)
    await page.getByRole("button", { name: "Zoom in" }).click()
    const drawn = () => lane.locator("path.model").getAttribute("d")
    const before = await drawn()
    await page.getByRole("listbox", { name: "Timeline" }).focus()
    await page.keyboard.press("ArrowLeft")
    await expect.poll(drawn).not.toBe(before)
    await page.getByRole("button", { name: "Critical path" }).click()
    await page.locator(".path").waitFor()
    await page.keyboard.press("Escape")
    await page.getByRole("listbox", { name: "Timeline" }).focus()
    await page.keyboard.press("End")
    await page.getByRole("option", { name: /^Task 100, general/, selected: true }).waitFor()
    expect(page.url()).toMatch(/\/timeline\/ses_\w+c100$/)
    await page.getByRole("link", { name: "Tree" }).click()
    await page.getByRole("treeitem", { name: /^Task 100, general/, selected: true }).waitFor()
    expect(await page.getByRole("treeitem").count()).toBeLessThan(60)
    expect(await accessibilityProblems(page)).toEqual([])
    expect(problems).toEqual([])
  })
})
