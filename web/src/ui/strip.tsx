import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Amounts } from "../api";
import { above, count, cpu, memory, percent, perHour, perMonth, rough, share, unknown } from "../format";
import { pastFailure, shownStrip } from "../replay";
import { link, params } from "../router";
import { now } from "../store";
import { Meter, Value } from "./parts";

function Cell({ label, value, sub, href, class: cls = "", children }: {
  label: string;
  value?: ComponentChildren;
  sub?: ComponentChildren;
  href?: string;
  class?: string;
  children?: ComponentChildren;
}) {
  const inner = (
    <>
      <dt>{label}</dt>
      {value !== undefined && <dd class="big">{value}</dd>}
      {children}
      {sub !== undefined && <dd class="sub">{sub}</dd>}
    </>
  );
  return <div class={"cell " + cls}>{href ? <a href={href} tabIndex={-1} aria-hidden="true" class="cover" /> : null}{inner}</div>;
}

function Resource({ name, of, requested, allocatable, coming, cls }: {
  name: string;
  of: keyof Amounts;
  requested: Amounts;
  allocatable: Amounts;
  coming: Amounts;
  cls?: string;
}) {
  const text = of === "memory" ? memory : of === "cpu" ? cpu : count;
  const all = allocatable[of] + coming[of];
  const used = share(requested[of], all);
  const there = share(requested[of], allocatable[of]);
  return (
    <Cell label={name} class={cls} value={<><Value text={percent(there)} title={there === null ? "unknown: no node has reported " + name : undefined} />{coming[of] > 0 && all > 0 && <span class="coming" title={`${text(coming[of])} coming`}>+{text(coming[of])}</span>}</>}
      sub={all > 0 ? <>{text(requested[of])} of {text(allocatable[of])}</> : "no capacity yet"}>
      <dd><Meter used={used} coming={all > 0 ? coming[of] / all : 0}
        label={`${name}: ${used === null ? "unknown" : percent(there) + " of allocatable requested"}${coming[of] > 0 ? `, ${text(coming[of])} coming` : ""}`} /></dd>
    </Cell>
  );
}

export function StripBar() {
  const s = shownStrip();
  const [more, setMore] = useState(false);
  const q = params.value.at;
  if (!s) {
    return <section class="strip" aria-label="Summary" aria-busy={!(q && pastFailure.value)}><dl class="cells skeleton" aria-hidden="true">{Array.from({ length: 9 }, (_, i) => <div key={i} class="cell"><dt>&nbsp;</dt><dd class="big">&nbsp;</dd></div>)}</dl></section>;
  }
  const below = s.listPerHour !== null && s.dollarsPerHour !== null && s.listPerHour > 0 ? 1 - s.dollarsPerHour / s.listPerHour : null;
  const over = s.floorPerHour !== null && s.dollarsPerHour !== null && s.floorPerHour > 0 ? s.dollarsPerHour / s.floorPerHour - 1 : null;
  const gpu = s.allocatable.gpu + s.coming.gpu + s.requested.gpu > 0;
  const amounts = { requested: s.requested, allocatable: s.allocatable, coming: s.coming };
  return (
    <section class={"strip" + (more ? " more" : "")} aria-label="Summary">
      <dl class="cells" id="strip">
        <Cell label="Nodes" class="lead" value={count(s.nodes)} sub={s.nodesComing > 0 ? <span class="coming">+{count(s.nodesComing)} coming</span> : "all have joined"} href={link({}, "fleet")} />
        <Cell label="Pods" class="lead" value={count(s.podsBound)} sub={s.podsPending > 0 ? <strong class="pending">{count(s.podsPending)} pending</strong> : "none pending"} href={link({}, "pending")} />
        <Cell label="Cost" class="lead money" value={<Value text={perHour(s.dollarsPerHour)} />}
          sub={<><Value text={perMonth(s.dollarsPerHour)} />{s.unpriced > 0 && <span class="unpriced">and {count(s.unpriced)} unpriced</span>}</>} href={link({}, "cost")} />
        <Cell label="vs lower bound" class="lead" value={<Value text={above(over)} title={above(over)} />}
          sub={<Value text={perHour(s.floorPerHour)} title="No nodes that hold the running pods cost less." />} />
        <Resource name="CPU" of="cpu" {...amounts} />
        <Resource name="Memory" of="memory" {...amounts} />
        {gpu && <Resource name="GPU" of="gpu" {...amounts} />}
        <Cell label={below !== null && below < 0 ? "Above list" : "Below list"} value={<Value text={percent(below === null ? null : Math.abs(below))} title="compared with the on-demand price of the same nodes" />}
          sub={s.listPerHour === null ? "list price unknown" : <>of {perHour(s.listPerHour)} list</>} />
        <Cell label="Spot share" value={<Value text={percent(s.spotShare)} />} sub="by price" />
        <Cell label="Last decision" value={<Value text={q ? unknown : rough(s.lastDecision, now.value)} title={q ? "not shown for an earlier moment" : undefined} />}
          sub={!s.leader ? "standby" : q ? "not kept" : s.lastDecision ? "ago" : "none yet"} href={link({}, "decisions")} />
      </dl>
      <button type="button" class="strip-more" aria-expanded={more} aria-controls="strip" onClick={() => setMore(!more)}>{more ? "Less" : "More"}</button>
    </section>
  );
}
