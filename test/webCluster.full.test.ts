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

    it.each(["SIGKILL", "SIGSTOP"] as const)(
      "the page says that its data is old when its server goes away, and offers the others (%s)",
      async (signal) => {
        const { first, second, third } = await startCluster(postgres)
        const { page, problems } = await tabs.open()
        await page.goto(first.line)
        await page.getByRole("link", { name: "Servers" }).click()
        await page.getByRole("listitem", { name: `Server ${new URL(third.url).host}, alive` }).waitFor()
        first.child.kill(signal)
        const notice = page.getByRole("alert").filter({ hasText: "does not answer. What you see is as it was at" })
        await notice.waitFor()
        for (const { url } of [second, third]) {
          const link = notice.getByRole("link", { name: new URL(url).host })
          expect(await link.getAttribute("href")).toBe(`${url}/cluster`)
        }
        expect(await page.getByRole("listitem", { name: /^Server .*, alive$/ }).count()).toBe(0)
        expect(await accessibilityProblems(page)).toEqual([])
        await page.getByRole("link", { name: "Skein" }).click()
        await notice.waitFor()
        if (signal === "SIGSTOP") {
          first.child.kill("SIGCONT")
          await notice.waitFor({ state: "detached" })
        }
        expect(problems).toEqual([])
      }
    )

    it("a page of all sessions says so as well, from the silence of its stream", async () => {
      const { first, second } = await startCluster(postgres)
      const { page } = await tabs.open()
      await page.goto(first.line)
      await page.getByRole("link", { name: "Servers" }).waitFor()
      await page.getByRole("status").filter({ hasText: "Live" }).waitFor()
      first.child.kill("SIGSTOP")
      const notice = page.getByRole("alert").filter({ hasText: "does not answer" })
      await notice.getByRole("link", { name: new URL(second.url).host }).waitFor()
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
