/** Draws what to do without a login. */
import { useState } from "preact/hooks"
import { exchange, loginProblem } from "../state/login.ts"

const codeOf = (text: string): string => /(?:#code=)?([\w-]{20,})\s*$/.exec(text.trim())?.[1] ?? text.trim()

/** The page without a login. */
export const Login = () => {
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
