/** Composes the page: the bar, the current problem, and the view of the route. */
import { useSignalEffect } from "@preact/signals"
import { Bar } from "./parts/Bar.tsx"
import { lazily } from "./parts/lazily.tsx"
import { Problem } from "./parts/Notices.tsx"
import { Old } from "./parts/Old.tsx"
import { announced } from "./state/actions.ts"
import { ClusterStore } from "./state/ClusterStore.ts"
import { current } from "./state/current.ts"
import { HomeStore } from "./state/HomeStore.ts"
import { login } from "./state/login.ts"
import { route } from "./state/route.ts"
import { TreeStore } from "./state/TreeStore.ts"
import { Home } from "./views/Home.tsx"
import { Login } from "./views/Login.tsx"
import { SessionPage } from "./views/SessionPage.tsx"

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
