/** Proves that the page shows the servers of a cluster, live: what each holds, who died, and who took up what. */
import { expect, it, vi } from "vitest"
import { accessibilityProblems, withBrowser } from "./support/browser.ts"
import { startCluster } from "./support/cluster.ts"
import { withPostgres } from "./support/withPostgres.ts"

vi.setConfig({ testTimeout: 120_000 })

await withPostgres((postgres) => {
  withBrowser((tabs) => {
    it("the page shows the servers, and a tree that moves to another one when its server is killed", async () => {
      const { first, id, llm, second } = await startCluster(postgres)
      const { page, problems } = await tabs.open()
      await page.goto(second.line)
      const running = page.getByRole("list", { name: /^Running/ }).getByRole("listitem")
      await running.filter({ hasText: `works at another server, ${new URL(first.url).host}` }).waitFor()
      await page.getByRole("link", { name: "Servers" }).click()
      expect(new URL(page.url()).pathname).toBe("/cluster")
      const address = new URL(first.url).host
      const server = (state: string) => page.getByRole("listitem", { name: `Server ${address}, ${state}` })
      await server("alive").waitFor()
      expect(await page.getByRole("listitem", { name: /^Server .*, alive$/ }).count()).toBe(3)
      const tree = page.getByRole("list", { name: `Trees of ${address}` }).getByRole("link", { name: "t" })
      expect(await tree.getAttribute("href")).toBe(`/s/${id}`)
      expect(await accessibilityProblems(page)).toEqual([])
      first.child.kill("SIGKILL")
      await llm.asked(2)
      await server("dead").waitFor()
      const moved = page.getByRole("region", { name: "Takeovers" }).getByRole("row", { name: id.slice(-8) })
      await moved.waitFor()
      expect(await moved.innerText()).toContain(address)
      expect(await accessibilityProblems(page)).toEqual([])
      await page.reload()
      await server("dead").waitFor()
      expect(problems).toEqual([])
    })

    it("it fits a narrow screen", async () => {
      const { second } = await startCluster(postgres)
      const { page } = await tabs.open({ width: 375, height: 800 })
      await page.goto(second.line)
      await page.getByRole("link", { name: "Servers" }).click()
      await page.getByRole("listitem", { name: /^Server / }).first().waitFor()
      expect(await page.locator("html").evaluate(({ scrollWidth }) => scrollWidth)).toBe(375)
    })
  })
})
