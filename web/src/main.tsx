import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import "./style.css";
import type { Info } from "./api";
import { get, setToken } from "./client";
import { age, count, duration } from "./format";
import { groupings } from "./layout";
import { moments, past, pastFailure } from "./replay";
import { views, type View } from "./route";
import { link, params, set, setView, view } from "./router";
import { announcement, connection, lastMessage, now, startClock, stream, strip } from "./store";
import { NodeDrawer } from "./ui/drawer";
import { Help } from "./ui/help";
import { Clock } from "./ui/parts";
import { StripBar } from "./ui/strip";
import { theme, toggleTheme } from "./ui/theme";
import { FleetView, grouping } from "./views/fleet";
import { PendingView } from "./views/pending";
import { DecisionsView } from "./views/decisions";
import { PoolsView } from "./views/pools";
import { CapacityView } from "./views/capacity";
import { CostView } from "./views/cost";
import { WhatIfView } from "./views/whatif";
import { TrendsView } from "./views/trends";

const titles: Record<View, string> = {
  fleet: "Fleet", pending: "Pending", decisions: "Decisions", pools: "Pools", capacity: "Capacity", cost: "Cost", whatif: "What-if", trends: "Trends",
};

const bodies: Record<View, () => preact.JSX.Element> = {
  fleet: FleetView, pending: PendingView, decisions: DecisionsView, pools: PoolsView, capacity: CapacityView, cost: CostView,
  whatif: WhatIfView, trends: TrendsView,
};

function Status() {
  const c = connection.value;
  const stale = lastMessage.value ? duration(now.value - lastMessage.value) : "";
  const [kind, text] =
    c.state === "live" ? ["live", "live"]
    : c.state === "connecting" ? ["connecting", "connecting"]
    : c.state === "lost" ? ["lost", stale ? `disconnected, data ${stale} old` : "disconnected"]
    : ["lost", "not allowed"];
  return <span class={"status status-" + kind} title={c.state === "lost" ? c.failure.message : undefined}><i aria-hidden="true" /><span>{text}</span></span>;
}

function Banner() {
  const c = connection.value;
  const at = params.value.at;
  if (c.state === "lost" && strip.value) {
    const left = Math.max(0, Math.ceil((c.retryAt - now.value) / 1000));
    return (
      <div class="banner banner-lost" role="alert">
        <span><b>Disconnected.</b> This is the state of <Clock time={lastMessage.value} />. <span class="count" aria-hidden="true">Next attempt in {count(left)} s.</span></span>
        <button type="button" class="button small" onClick={() => stream.retry()}>Connect now</button>
      </div>
    );
  }
  if (at && view.value !== "decisions") {
    return (
      <div class="banner banner-past" role="status">
        <span>{pastFailure.value ? <><b>The fleet of {at} cannot be shown.</b> <bdi>{pastFailure.value.message}</bdi> </> : <><b>Fleet at <Clock time={at} /></b>, {age(at, now.value)} ago. {past.value ? "" : "Loading… "}</>}{view.value === "fleet" ? "" : "This view shows the state of now."}</span>
        <button type="button" class="button small" onClick={() => set({ at: undefined })}>Back to now</button>
      </div>
    );
  }
  if (strip.value && !strip.value.leader) {
    const { leaderName } = strip.value;
    return (
      <div class="banner banner-past" role="status">
        <span><b>Standby replica.</b> Decisions, costs, the lower bound and why pods have no node are known to the leader only{leaderName ? <>. Open the dashboard of pod <code>{leaderName}</code></> : ""}.</span>
      </div>
    );
  }
  return null;
}

/** Asks for a token, because the controller requires authentication, or says that the user may not see the cluster. */
function SignIn({ message, fix, denied }: { message: string; fix: string; denied: boolean }) {
  const [value, setValue] = useState("");
  return (
    <form class="blank signin" onSubmit={(e) => { e.preventDefault(); setToken(value); stream.retry(); }}>
      <h2>{denied ? "You may not see this cluster" : "Sign in with a token"}</h2>
      <p role={denied ? "alert" : undefined}>{message}</p>
      {fix && <p class="muted">{fix}</p>}
      <label>Bearer token<input type="password" autocomplete="off" value={value} onInput={(e) => setValue(e.currentTarget.value)} /></label>
      <p class="muted">For example <code>kubectl create token NAME</code>. It is kept until this tab is closed.</p>
      <button type="submit" class="button primary" disabled={!value.trim()}>Continue</button>
    </form>
  );
}

function editing(e: KeyboardEvent): boolean {
  const t = e.target as HTMLElement;
  return t.matches?.("input:not([type=range]), textarea, select, [contenteditable]") ?? false;
}

export function step(by: number): void {
  const list = moments.value;
  if (!list?.length) return;
  const at = params.value.at;
  const found = at ? list.indexOf(at) : list.length;
  const next = (found < 0 ? list.length : found) + by;
  set({ at: next >= list.length ? undefined : list[Math.max(0, next)] }, true);
}

function App() {
  const search = useRef<HTMLInputElement>(null);
  const main = useRef<HTMLElement>(null);
  const [help, setHelp] = useState(false);
  const [info, setInfo] = useState<Info | null>(null);
  const current = view.value;
  const Body = bodies[current];
  const c = connection.value;
  const connected = c.state === "live";

  useEffect(() => {
    if (connected) get<Info>("info").then(setInfo, () => setInfo(null));
  }, [connected]);
  useEffect(() => {
    document.title = `${titles[current]} · ${info?.cluster || "Karpenter"}`;
    document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [current, info]);

  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || document.querySelector("dialog[open]")) return;
      if (e.key === "Escape") {
        const p = params.value;
        if (document.activeElement === search.current) {
          if (p.q) set({ q: undefined }, true);
          else search.current!.blur();
        } else if (editing(e)) (e.target as HTMLElement).blur();
        else if (p.node) set({ node: undefined });
        else if (p.episode) set({ episode: undefined });
        else if (p.q) set({ q: undefined }, true);
        else if (p.at) set({ at: undefined });
        else return;
        e.preventDefault();
        return;
      }
      if (editing(e)) {
        if (e.key === "ArrowDown" && e.target === search.current) {
          main.current!.querySelector<HTMLElement>("[role=listbox],[role=grid],[tabindex='0']")?.focus();
          e.preventDefault();
        }
        return;
      }
      const digit = Number(e.key);
      if (digit >= 1 && digit <= views.length) {
        setView(views[digit - 1]);
        announcement.value = titles[views[digit - 1]];
      } else if (e.key === "/") search.current!.focus();
      else if (e.key === "?") setHelp(true);
      else if (e.key === "t") toggleTheme();
      else if (e.key === "g" && current === "fleet") {
        const next = groupings[(groupings.indexOf(grouping()) + 1) % groupings.length];
        set({ group: next === "pool" ? undefined : next }, true);
      } else if (e.key === "v" && current === "fleet") set({ as: params.value.as === "table" ? undefined : "table" }, true);
      else if (e.key === "[") step(-1);
      else if (e.key === "]") step(1);
      else if (e.key.startsWith("Arrow") && (document.activeElement === document.body || document.activeElement === null)) {
        const list = main.current!.querySelector<HTMLElement>("[role=listbox],[role=grid]");
        if (!list) return;
        list.focus({ focusVisible: true } as FocusOptions);
      } else return;
      e.preventDefault();
    };
    window.addEventListener("keydown", key);
    return () => window.removeEventListener("keydown", key);
  }, [current]);

  const blocked = c.state === "token" || c.state === "denied";
  return (
    <>
      <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); main.current!.focus(); }}>Skip to the content</a>
      <header class="top">
        <a class="brand" href="#/fleet" title="Fleet">
          <img src="./icon.svg" alt="" width="24" height="24" />
          <span class="brand-text"><b>Karpenter</b>{info?.cluster && <small>{info.cluster}</small>}</span>
        </a>
        <nav class="tabs" aria-label="Views">
          {views.map((v, i) => (
            <a key={v} href={link({}, v)} aria-current={v === current ? "page" : undefined} title={`${titles[v]} (${i + 1})`}>
              {titles[v]}{v === "pending" && strip.value && strip.value.podsPending > 0 && <span class="pill" aria-label={`, ${strip.value.podsPending} pods`}>{count(strip.value.podsPending)}</span>}
            </a>
          ))}
        </nav>
        <div class="tools">
          <label class="search">
            <span class="hidden">Search</span>
            <input ref={search} type="search" placeholder="Search" value={params.value.q ?? ""} spellcheck={false} autocomplete="off"
              onInput={(e) => set({ q: e.currentTarget.value || undefined }, true)} />
            <kbd aria-hidden="true">/</kbd>
          </label>
          {info?.dryRun && <span class="badge badge-dry" title="Decisions are recorded and not carried out.">dry run</span>}
          <Status />
          <button type="button" class="icon" onClick={toggleTheme} title="Dark or light (t)" aria-label={theme.value === "dark" ? "Light theme" : "Dark theme"}>{theme.value === "dark" ? "☀" : "☾"}</button>
          <button type="button" class="icon" onClick={() => setHelp(true)} title="Keyboard (?)" aria-label="Help">?</button>
        </div>
      </header>
      <Banner />
      {!blocked && <StripBar />}
      <main id="main" ref={main} tabIndex={-1} class={"view-" + current + (params.value.node ? " with-drawer" : "")}>
        <h1 class="hidden">{titles[current]}</h1>
        {blocked ? <SignIn message={c.failure.message} fix={c.failure.fix} denied={c.state === "denied"} /> : <Body />}
        {!blocked && params.value.node && current !== "whatif" && <NodeDrawer key={params.value.node} />}
      </main>
      <div class="hidden" role="status" aria-live="polite">{announcement.value}</div>
      {help && <Help close={() => setHelp(false)} />}
    </>
  );
}

startClock();
stream.start();
render(<App />, document.getElementById("app")!);
