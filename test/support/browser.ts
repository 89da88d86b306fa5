/** A real browser for the tests of the page: Chromium, where it is installed. */
import axe from "axe-core"
import { existsSync } from "node:fs"
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core"
import { afterAll, afterEach, it } from "vitest"

const places = [
  process.env["SKEIN_CHROMIUM"] ?? "",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome"
]

const executable = places.find((path) => path !== "" && existsSync(path))

/** What is said where there is no browser. */
const missing = "the page in a browser: no Chromium is installed here. Install it: apt-get install chromium"

/** What a test does with pages. */
interface Tab {
  readonly page: Page
  readonly context: BrowserContext
  /** What went wrong in the page: errors, and what its policy forbade. */
  readonly problems: ReadonlyArray<string>
}

/** Opens tabs. */
export interface Tabs {
  readonly open: (
    size?: { readonly width: number; readonly height: number },
    more?: Pick<BrowserContextOptions, "ignoreHTTPSErrors">
  ) => Promise<Tab>
}

/** What the browser says of requests to a server that is not there is no problem of the page. */
const isOfNetwork = /net::ERR_|Failed to load resource/

/** Registers tests of the page; where there is no browser they are skipped, and it is said how to install one. */
export const withBrowser = (tests: (tabs: Tabs) => void): void => {
  if (executable === undefined) {
    it.skip(missing, () => undefined)
    return
  }
  let browser: Promise<Browser> | undefined
  const contexts: Array<BrowserContext> = []
  afterEach(async () => {
    for (const context of contexts.splice(0)) await context.close()
  })
  afterAll(async () => (await browser)?.close())
  tests({
    open: async (viewport = { width: 1280, height: 800 }, more = {}) => {
      browser ??= chromium.launch({ executablePath: executable, args: ["--no-sandbox", "--disable-dev-shm-usage"] })
      const context = await (await browser).newContext({ viewport, reducedMotion: "reduce", ...more })
      contexts.push(context)
      // A bound for what hangs, and no measure of anything.
      context.setDefaultTimeout(30_000)
      const page = await context.newPage()
      const problems: Array<string> = []
      page.on("pageerror", (error) => problems.push(error.message))
      page.on("console", (message) => {
        if (message.type() === "error" && !isOfNetwork.test(message.text())) problems.push(message.text())
      })
      return { page, context, problems }
    }
  })
}

/** What axe finds wrong with a page, each with the elements that it is about. */
export const accessibilityProblems = async (page: Page): Promise<ReadonlyArray<string>> => {
  // The policy of the page runs no script of others: the browser itself has to bring it in.
  await page.evaluate(axe.source)
  return page.evaluate(async () => {
    const { axe: inPage } = globalThis as unknown as { readonly axe: typeof axe }
    const { violations } = await inPage.run({ resultTypes: ["violations"] })
    return violations.flatMap(({ help, id, nodes }) =>
      nodes.map(({ target }) => `${id}: ${help} (${target.join(" ")})`)
    )
  })
}
