/** Starts the page. */
import { render } from "preact"
import { App } from "./App.tsx"
import { startClock } from "./state/clock.ts"
import { startStores } from "./state/current.ts"
import { startLogin } from "./state/login.ts"
import { startRouting } from "./state/route.ts"

const place = document.getElementById("app")
if (place === null) throw new Error("The page has no place for the app.")
startRouting()
startClock()
startStores()
startLogin()
render(<App />, place)
