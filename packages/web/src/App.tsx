/** Composes the page: the bar, the current problem, and the view of the route. */
import { useSignalEffect } from "@preact/signals"
import { useState } from "preact/hooks"
import { Bar, Old } from "./parts/Bar.tsx"
import { lazily, Problem } from "./parts/Notices.tsx"
import { announced } from "./state/actions.ts"
import { ClusterStore } from "./state/ClusterStore.ts"
import { current } from "./state/current.ts"
import { HomeStore } from "./state/HomeStore.ts"
import { exchange, login, loginProblem } from "./state/login.ts"
import { route } from "./state/route.ts"
import { TreeStore } from "./state/TreeStore.ts"
import { Home } from "./views/Home.tsx"
import { SessionPage } from "./views/SessionPage.tsx"

const codeOf = (text: string): string => /(?:#code=)?([\w-]{20,})\s*$/.exec(text.trim())?.[1] ?? text.trim()

/** The page without a login. */
const Login = () => {
  const [text, setText] = useState("")
  return (
    <form
      class="panel login"
      onSubmit={(event) => {
        event.preventDefault()
        if (text.trim() !== "") void exchange(codeOf(text))
      }}
    >
      <h1>Log in</h1>
      <p>
        Run <code>skein serve --url</code>{" "}
        on the machine of the server. Open the URL that it prints, or paste it here. It works once, within a minute.
      </p>
      <label for="login-code">URL or code</label>
      <input
        id="login-code"
        type="text"
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      {loginProblem.value !== undefined && <p class="problem" role="alert">{loginProblem.value}</p>}
      <button type="submit" class="primary">Log in</button>
    </form>
  )
}

/** Few servers are in a cluster. */
const ClusterView = lazily(() => import("./views/ClusterView.tsx").then((found) => found.ClusterView))
const NewSession = lazily(() => import("./views/NewSession.tsx").then((found) => found.NewSession))

const Content = () => {
  const store = current.value
  const { value: to } = route
  if (login.value === "out") return <Login />
  if (store instanceof HomeStore) return to.page === "new" ? <NewSession store={store} /> : <Home store={store} />
  if (store instanceof TreeStore && to.page === "session") {
    return <SessionPage key={store.id} store={store} route={to} />
  }
  if (store instanceof ClusterStore) return <ClusterView store={store} />
  return <p class="notice" role="status">Loading</p>
}

const StoreProblem = () => {
  const problem = current.value?.problem.value
  return problem === undefined ? null : <Problem text={problem} />
}

/** The whole page. */
export const App = () => {
  useSignalEffect(() => {
    const store = current.value
    const asks = store === undefined ? 0 : (store.revision.value, store.asks.all.length)
    document.title = `${asks > 0 ? `(${asks}) ` : ""}Skein`
  })
  return (
    <>
      <a class="skip" href="#content" target="_self">Skip to content</a>
      <Bar />
      <main id="content" data-scroller tabIndex={-1}>
        <Old />
        <StoreProblem />
        <Content />
      </main>
      <p class="unseen" role="status" aria-live="polite">{announced.value}</p>
    </>
  )
}
