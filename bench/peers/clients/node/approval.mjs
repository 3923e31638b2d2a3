// The approval page in a real browser, on a phone and on a desk. The first argument is a
// JSON object: argv of the server, the file of its tokens, the browser's program and
// the folder for screenshots. It prints what it saw; see looks in the Go test.
import { join } from "node:path";
import { createHash } from "node:crypto";
import { chromium, devices } from "playwright-core";
import { Board, Callback, listen } from "./board.mjs";

const { argv, tokens, browser: executablePath, shots } = JSON.parse(process.argv[2]);
const board = new Board(argv, tokens);
const callback = new Callback();
await callback.start();
await board.start();
const origin = new URL(board.url).origin;
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const seen = { pages: {}, errors: [], facts: {} };

const small = { viewport: { width: 320, height: 568 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };
const looks = {
  phone: devices["Pixel 7"],
  "phone, dark": { ...devices["Pixel 7"], colorScheme: "dark" },
  "small phone": small,
  iphone: devices["iPhone 14"],
  desk: { viewport: { width: 1280, height: 900 } },
  "desk, large type": { viewport: { width: 640, height: 450 }, deviceScaleFactor: 2 }, // as zoomed to 200 %
};

const register = async (name, redirect = callback.url) =>
  (await (await fetch(origin + "/register", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ client_name: name, redirect_uris: [redirect], token_endpoint_auth_method: "none" }),
  })).json()).client_id;

const challenge = createHash("sha256").update("v".repeat(43)).digest("base64url");
let count = 0;
const address = (id, more = {}) =>
  `${origin}/authorize?` + new URLSearchParams({
    response_type: "code", client_id: id, redirect_uri: callback.url, state: `s${++count}`,
    code_challenge: challenge, code_challenge_method: "S256", resource: board.url, ...more,
  });

// open gives a page of a browser of its own.
async function open(look) {
  const { defaultBrowserType, ...options } = looks[look];
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.on("console", (m) => m.type() === "error" && !/status of 4\d\d/.test(m.text()) && seen.errors.push(`${look}: ${m.text()}`));
  page.on("pageerror", (e) => seen.errors.push(`${look}: ${e}`));
  return page;
}

// examine keeps a screenshot and how the page is laid out.
async function examine(page, look, state) {
  await page.screenshot({ path: join(shots, `${look} - ${state}.png`.replace(/, /g, "-")), fullPage: true });
  seen.pages[`${look}: ${state}`] = await page.evaluate(() => {
    const size = (e) => e && { width: e.getBoundingClientRect().width, height: e.getBoundingClientRect().height };
    const inside = [...document.querySelectorAll("body *")].every((e) => e.getBoundingClientRect().right <= innerWidth + 0.5 && e.getBoundingClientRect().left >= -0.5);
    // The contrast of text with what is behind it (WCAG 2.2, 1.4.3).
    const channel = (c) => ((c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    const numbers = (c) => c.match(/[\d.]+/g).map(Number);
    const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
    const behind = (e) => {
      for (; e; e = e.parentElement) {
        const c = numbers(getComputedStyle(e).backgroundColor);
        if (c[3] !== 0) return c;
      }
      return [255, 255, 255];
    };
    let contrast = 21;
    for (const e of document.querySelectorAll("header, h1, p, dt, dd, small, legend, label, span, button, input")) {
      const [a, b] = [light(numbers(getComputedStyle(e).color)), light(behind(e))];
      contrast = Math.min(contrast, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
    }
    return {
      title: document.title,
      text: document.body.innerText,
      overflows: document.documentElement.scrollWidth > innerWidth || !inside,
      buttons: [...document.querySelectorAll("button")].map(size),
      code: size(document.querySelector("input[name=code]")),
      codeFont: parseFloat(getComputedStyle(document.querySelector("input[name=code]") ?? document.body).fontSize),
      focused: document.activeElement?.name ?? "",
      contrast,
      scripts: document.scripts.length,
      foreign: performance.getEntriesByType("resource").length,
    };
  });
}

// again starts the board anew: it forgets who has sent many requests and wrong codes, and
// clients that have no tokens. It gives a client's id.
async function again() {
  await board.stop();
  await board.start();
  return register("Claude Code");
}

const code = (page) => page.getByLabel(/Pairing code/);
const approve = (page) => page.getByRole("button", { name: "Approve" }).click();

try {
  let id = await register("Claude Code");
  for (const look of Object.keys(looks)) {
    const page = await open(look);
    const next = board.nextCode();
    await page.goto(address(id));
    const right = await next;
    await examine(page, look, "asked");
    if (look === "phone") await page.getByRole("checkbox").uncheck();
    await code(page).fill("AAAA-AAAA");
    await approve(page);
    await page.getByRole("alert").waitFor();
    await examine(page, look, "wrong code");
    seen.pages[`${look}: wrong code`].ticked = await page.getByRole("checkbox").isChecked();
    await code(page).fill(right.toLowerCase().replace("-", ""));
    const answer = callback.next();
    await approve(page);
    const params = await answer;
    seen.pages[`${look}: wrong code`].answer = Object.fromEntries(params);
    await page.context().close();
  }

  id = await again();

  // A client that only wants to look, from a web site, by a long name.
  const site = await register("An assistant with a very long name that goes on, and on, and on, until there is no room", "https://assistant.example.com/oauth/callback");
  for (const look of ["phone", "desk"]) {
    const page = await open(look);
    await page.goto(address(site, { redirect_uri: "https://assistant.example.com/oauth/callback", scope: "board:read" }));
    await examine(page, look, "a site that looks");
    await page.context().close();
  }

  // What a person sees when something is amiss.
  const page = await open("phone");
  await page.goto(address("bhc_unknown"));
  await examine(page, "phone", "unknown client");
  await page.goto(address(id));
  for (let i = 0; i < 5; i++) {
    await code(page).fill("AAAA-AAAA");
    await Promise.all([page.waitForEvent("load"), approve(page)]);
  }
  await examine(page, "phone", "closed");
  await page.goto(address(id));
  await examine(page, "phone", "locked");
  await page.context().close();
  id = await again();

  // To deny, by the keyboard alone, without scripts.
  const context = await browser.newContext({ javaScriptEnabled: false });
  const keys = await context.newPage();
  await keys.goto(address(id));
  for (let i = 0; i < 4; i++) await keys.keyboard.press("Tab"); // over the box, the code and Approve
  const denied = callback.next();
  await keys.keyboard.press("Enter");
  seen.facts.denied = Object.fromEntries(await denied);
  await context.close();

  // A foreign page frames the approval page: the browser shows nothing of it.
  const foreign = await listen("localhost", (request, response) => {
    const target = new URL(request.url, "http://localhost").searchParams;
    response.setHeader("content-type", "text/html");
    response.end(
      request.url.startsWith("/frame")
        ? `<!doctype html><iframe src="${target.get("to").replaceAll("&", "&amp;")}" width="600" height="600"></iframe>`
        : `<!doctype html><form method="post" action="${origin}/authorize"><input name="request" value="${target.get("request")}"><input name="code" value="${target.get("code")}"><input name="decision" value="approve"><button>go</button></form>`,
    );
  });
  const attack = await browser.newPage();
  await attack.goto(`${foreign.origin}/frame?to=${encodeURIComponent(address(id))}`);
  await attack.waitForTimeout(500);
  seen.facts.framed = await attack.frames()[1].evaluate(() => document.body.innerText).catch((e) => String(e));
  await attack.close();

  // A foreign page sends the form, with everything right in it.
  const victim = await browser.newPage();
  const next = board.nextCode();
  await victim.goto(address(id));
  const right = await next;
  const request = await victim.locator("input[name=request]").inputValue();
  const evil = await browser.newPage();
  await evil.goto(`${foreign.origin}/form?${new URLSearchParams({ request, code: right })}`);
  const [response] = await Promise.all([evil.waitForResponse((r) => r.url().endsWith("/authorize")), evil.getByRole("button").click()]);
  seen.facts.forged = response.status();
  // The same from the board's own page is right.
  await code(victim).fill(right);
  const answer = callback.next();
  await approve(victim);
  seen.facts.own = Object.fromEntries(await answer);
  foreign.closeAllConnections();
  foreign.close();
} finally {
  await browser.close();
  await board.stop();
  callback.stop();
}
seen.log = board.log;
console.log(JSON.stringify(seen));
process.exit(0);
