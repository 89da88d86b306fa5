/** Owns the page's login: a cookie that it cannot read, and a key that it sends with each request. */
import { signal } from "@preact/signals"
import { after } from "./clock.ts"

const name = "skein-key"

/** How long other tabs may take to share the key, in milliseconds. */
const patience = 150

/** Whether there is a login; `unknown` until the page has looked for one. */
export const login = signal<"in" | "out" | "unknown">("unknown")

/** The key; undefined if there is none. */
export const key = (): string | undefined => sessionStorage.getItem(name) ?? undefined

/** Why the last login failed. */
export const loginProblem = signal<string | undefined>(undefined)

// A link that opens a tab does not pass on the key, so tabs share it with others of this origin.
const tabs = new BroadcastChannel("skein-login")

const take = (value: string): void => {
  sessionStorage.setItem(name, value)
  login.value = "in"
}

/** The login has ended. */
export const forget = (): void => {
  sessionStorage.removeItem(name)
  login.value = "out"
}

/** Exchanges a code for a login. */
export const exchange = async (code: string): Promise<void> => {
  try {
    const response = await fetch("/v1/login", {
      redirect: "error",
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ code })
    })
    const answer = await response.json() as { readonly key?: string; readonly detail?: string }
    loginProblem.value = answer.key === undefined ? answer.detail ?? "The server refused the code." : undefined
    if (answer.key !== undefined) take(answer.key)
    else if (key() === undefined) login.value = "out"
    else login.value = "in"
  } catch {
    loginProblem.value = "The server does not answer."
    login.value = key() === undefined ? "out" : "in"
  }
}

const askTabs = (): void => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has no other origin
  tabs.postMessage("key?")
  after(patience, () => {
    if (login.value === "unknown") login.value = "out"
  })
}

/** Logs in with the code in the URL, with the stored key, or with the key of another tab. */
export const startLogin = (): void => {
  tabs.addEventListener("message", ({ data }: MessageEvent<unknown>) => {
    const own = key()
    if (data === "key?" && own !== undefined) {
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has no other origin
      tabs.postMessage({ key: own })
    } else if (typeof data === "object" && data !== null && "key" in data && login.value !== "in") {
      take(String(data.key))
    }
  })
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1]
  // The code works once, so remove it from the history.
  if (location.hash !== "") history.replaceState(null, "", location.pathname)
  if (code !== undefined) void exchange(code)
  else if (key() !== undefined) login.value = "in"
  else askTabs()
}
