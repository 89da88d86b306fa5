import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { htmlText } from "../../src/internal/web/webPage.ts"

const markdown = (html: string) => htmlText(html, "https://example.com/dir/page", false)

const cases: ReadonlyArray<readonly [what: string, html: string, expected: string]> = [
  ["headings and paragraphs", "<h1>A</h1><p>one\n  two</p><p>three<br>four</p>", "# A\n\none two\n\nthree\nfour"],
  [
    "marks",
    "<p>a <b>bold</b>, <em>it</em> <code>x = 1</code><strong> s </strong>end<i></i></p>",
    "a **bold**, *it* `x = 1` **s** end"
  ],
  ["elements of no known name", "<p>a <constructor>b</constructor></p>", "a b"],
  [
    "links and images",
    "<a href='../x'>up <b>b</b></a> <a href='javascript:x()'>no</a> <img src=i.png alt=pic> <img src=p.png>",
    "[up **b**](https://example.com/x) no ![pic](https://example.com/dir/i.png)"
  ],
  ["a link around blocks", "<a href='/x'><div><h3>T</h3><p>text</p></div></a>", "[### T text](https://example.com/x)"],
  [
    "lists",
    "<ul><li>one<ul><li>deep</li></ul></li><li>two</li></ul><ol start=3><li><p>c</p></li><li>d</li></ol>",
    "- one\n  - deep\n- two\n\n3. c\n4. d"
  ],
  [
    "code",
    "<pre><code class='language-js'>let x = 1 &lt; 2\n  y</code></pre><p>after</p>",
    "```js\nlet x = 1 < 2\n  y\n```\n\nafter"
  ],
  [
    "tables",
    "<table><tr><th>a</th><th>b|c</th></tr><tr><td>1<br>2</td><td><b>x</b></td></tr></table>",
    "| a | b\\|c |\n| --- | --- |\n| 1 2 | **x** |"
  ],
  ["quotes", "<blockquote><p>one</p><p>two</p></blockquote><hr><p>x</p>", "> one\n>\n> two\n\n---\n\nx"],
  [
    "what is not shown",
    "<head><title>t</title></head><script>if (a<b) '<p>'</script><style>p{}</style><p>x</p><!-- c --><svg><text>s</text></svg>",
    "x"
  ],
  [
    "entities and broken markup",
    "<p>&eacute;&#x1F600;&nbsp;&amp;lt; <b>open <p>next</i> &bogus;",
    "é😀 &lt; **open**\n\nnext &bogus;"
  ],
  ["nothing", "", ""]
]

describe("htmlText", () => {
  for (const [what, html, expected] of cases) {
    it.effect(`writes ${what}`, () =>
      Effect.map(markdown(html), (text) => {
        expect(text).toBe(expected)
      }))
  }

  it.effect("leaves the marks out of plain text", () =>
    Effect.map(
      htmlText(
        "<h2>A</h2><ul><li><b>x</b> <a href=/y>y</a></li></ul><table><tr><td>1</td><td>2</td></tr></table>",
        "https://e.com",
        true
      ),
      (text) => {
        expect(text).toBe("A\n\n- x y\n\n1\t2")
      }
    ))

  it.effect("ends for hostile pages, which take hours in quadratic time, and refuses those that it cannot convert", () =>
    Effect.gen(function*() {
      const size = 1024 * 1024
      const hostile = [
        "<".repeat(size),
        "<a ".repeat(size / 3),
        "&".repeat(size),
        "<!--".repeat(size / 4),
        "<br>".repeat(size / 4),
        "<td>x".repeat(size / 5)
      ]
      yield* Effect.forEach(hostile, markdown)
      for (const tag of ["<div>", "<b>", "<ul><li>", "<table><tr><td>", "<blockquote>", "<a href=x>"]) {
        const page = tag.repeat(200_000)
        const result = yield* Effect.either(markdown(page))
        if (tag !== "<a href=x>") expect(result._tag, tag).toBe("Left")
      }
    }))
})
