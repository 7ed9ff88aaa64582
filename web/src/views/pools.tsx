import type { Pool } from "../api";
import { clock, count, cpu, dollars, goDuration, memory, percent, perHour, plural, sumPerHour, zone } from "../format";
import { link, params, set } from "../router";
import { matchText, parseQuery } from "../search";
import { episodes, now } from "../store";
import { Badge, Blank, Failed, Loading, Meter, NoMatch, Value } from "../ui/parts";
import { Fix } from "../ui/drawer";
import { useResource } from "../ui/use";
import { week } from "../week";

const dayName = (t: number) => new Date(t).toLocaleDateString("en-GB", { weekday: "short", day: "numeric" });

function limitText(l: Pool["limits"][number]): string {
  if (l.resource === "memory") return `${memory(l.used)} of ${memory(l.limit)} memory`;
  return l.text.includes(l.resource) ? l.text : `${l.text} ${l.resource}`;
}

function reasonsText(reasons: string[]): string {
  return reasons.length ? reasons.join(", ") : "all reasons";
}

function Calendar({ pool }: { pool: Pool }) {
  const scheduled = pool.budgets.filter((b) => b.schedule);
  const always = pool.budgets.filter((b) => !b.schedule);
  const days = week(scheduled, now.value);
  const lane = 12;
  const hour = (now.value - days[0].start) / 3_600_000;
  return (
    <div class="budgets">
      <ul class="budget-list">
        {always.map((b, i) => <li key={"a" + i}><span class="key-swatch always" /><b>{b.nodes}</b> of nodes at any time, {reasonsText(b.reasons)} <span class="muted">now {count(b.allowed)} allowed</span></li>)}
        {scheduled.map((b, i) => (
          <li key={"s" + i}><span class={`key-swatch budget-${i % 4}${b.nodes === "0" || b.nodes === "0%" ? " none" : ""}`} /><b>{b.nodes}</b> of nodes, {reasonsText(b.reasons)}, <code>{b.schedule}</code> UTC for {goDuration(b.duration)} <span class="muted">{b.windows.some(([f, t]) => Date.parse(f) <= now.value && now.value < Date.parse(t)) ? `now ${count(b.allowed)} allowed` : "not in force now"}</span></li>
        ))}
      </ul>
      {scheduled.length > 0 && (
        <div class="week" role="img" aria-label={`Week calendar: ${scheduled.map((b) => `${b.nodes} of nodes for ${reasonsText(b.reasons)} by schedule ${b.schedule} UTC for ${goDuration(b.duration)}`).join("; ")}`}>
          <div class="hours"><span title="the time zone of the browser">{zone(now.value)}</span>{[0, 6, 12, 18].map((h) => <i key={h} style={{ left: `${(h / 24) * 100}%` }}>{String(h).padStart(2, "0")}</i>)}</div>
          {days.map((day, d) => (
            <div key={d} class="day" style={{ height: Math.max(18, scheduled.length * lane + 6) + "px" }}>
              <span>{dayName(day.start)}</span>
              <div>
                {day.bars.map((bar, i) => <b key={i} class={`budget-${bar.budget % 4}${scheduled[bar.budget].nodes.replace("%", "") === "0" ? " none" : ""}`} style={{ left: `${(bar.from / 24) * 100}%`, width: `${((bar.to - bar.from) / 24) * 100}%`, top: 3 + bar.budget * lane + "px", height: lane - 2 + "px" }} />)}
                {d === 0 && <em style={{ left: `${(hour / 24) * 100}%` }} />}
              </div>
            </div>
          ))}
        </div>
      )}
      {!pool.budgets.length && <p class="muted">No budget limits disruption of this NodePool.</p>}
    </div>
  );
}

function Types({ pool }: { pool: Pool }) {
  const most = Math.max(...pool.types.map((t) => t.dollarsPerHour ?? 0), 0);
  return (
    <div class="table-scroll tall" tabIndex={0} role="region" aria-label={"Instance types of " + pool.name}>
      <table class="plain types">
        <thead><tr><th>Type</th><th class="number">CPU</th><th class="number">Memory</th><th class="number">GPU</th><th>Capacity types</th><th class="number">Nodes</th><th class="number">from $/h</th><th aria-hidden="true" /></tr></thead>
        <tbody>
          {pool.types.map((t) => (
            <tr key={t.name}>
              <td>{t.name}</td><td class="number">{cpu(t.cpu)}</td><td class="number">{memory(t.memory)}</td><td class="number">{t.gpu ? count(t.gpu) : <span class="muted">–</span>}</td>
              <td class="muted">{t.capacityTypes.join(", ")}</td><td class="number">{t.nodes ? <a href={link({ q: "type:" + t.name + " pool:" + pool.name }, "fleet")}>{count(t.nodes)}</a> : <span class="muted">–</span>}</td>
              <td class="number"><Value text={dollars(t.dollarsPerHour)} /></td>
              <td class="spark" aria-hidden="true">{t.dollarsPerHour !== null && most > 0 && <i style={{ width: `${(t.dollarsPerHour / most) * 100}%` }} />}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {pool.typesTotal > pool.types.length && <p class="muted">The {count(pool.types.length)} cheapest of {plural(pool.typesTotal, "instance type")}.</p>}
    </div>
  );
}

function PoolCard({ pool, open }: { pool: Pool; open: boolean }) {
  const top = pool.limits.reduce((max, l) => Math.max(max, l.limit > 0 ? l.used / l.limit : 0), 0);
  return (
    <li class={"pool" + (open ? " open" : "")} id={"pool-" + pool.name}>
      <div class="pool-head">
        <h2><button type="button" aria-expanded={open} onClick={() => set({ pool: open ? undefined : pool.name })}>{pool.name}</button></h2>
        <Badge kind={pool.ready ? "ready" : "problem"}>{pool.ready ? "ready" : "not ready"}</Badge>
        {pool.weight > 0 && <span class="muted">weight {count(pool.weight)}</span>}
        <span class="pool-numbers"><a href={link({ q: "pool:" + pool.name }, "fleet")}>{plural(pool.nodes, "node")}</a><b><Value text={sumPerHour(pool.dollarsPerHour, pool.unpriced)} /></b></span>
      </div>
      {pool.problem && <p class="why">{pool.problem}</p>}
      <Fix text={pool.fix} />
      <div class="pool-facts">
        <div><h3>Limits</h3>
          {pool.limits.length ? (
            <ul class="limits">{pool.limits.map((l) => <li key={l.resource}><span>{limitText(l)}</span><Meter used={l.limit > 0 ? l.used / l.limit : null} label={limitText(l)} /></li>)}</ul>
          ) : <p class="muted">none</p>}
          {top >= 1 && <p class="muted">A limit is used up. No node that needs more of it is launched.</p>}
        </div>
        <div><h3>Drift</h3>
          {pool.nodes === 0 ? <p class="muted">no nodes</p> : pool.drifted ? (
            <><Meter used={1 - pool.drifted / pool.nodes} label={`${count(pool.nodes - pool.drifted)} of ${count(pool.nodes)} nodes as the NodePool says`} /><p><a href={link({ q: "state:drifted pool:" + pool.name }, "fleet")}>{plural(pool.drifted, "node")} drifted</a>, {percent(1 - pool.drifted / pool.nodes)} as the NodePool says</p></>
          ) : <p>all nodes as the NodePool says</p>}
        </div>
        <div><h3>Health</h3><p>{pool.unhealthy ? <span class="why">{plural(pool.unhealthy, "node")} unhealthy</span> : pool.nodes ? "no unhealthy node" : <span class="muted">no nodes</span>}</p></div>
        <div><h3>Instance types</h3><p>{plural(pool.typesTotal, "type")}{pool.types[0] && <>, from <Value text={perHour(pool.types[0].dollarsPerHour)} /> ({pool.types[0].name})</>}</p></div>
      </div>
      <div class="pool-part"><h3>Disruption budgets</h3><Calendar pool={pool} /></div>
      {open ? (
        <>
          <div class="pool-part"><h3>Requirements</h3>{pool.requirements.length ? <p class="chips">{pool.requirements.map((r) => <code key={r} class="chip">{r}</code>)}</p> : <p class="muted">none</p>}</div>
          <div class="pool-part"><h3>Types and prices</h3>{pool.types.length ? <Types pool={pool} /> : <p class="why">No instance type meets the requirements.</p>}</div>
        </>
      ) : <button type="button" class="button small" onClick={() => set({ pool: pool.name })}>Requirements, types and prices</button>}
    </li>
  );
}

export function PoolsView() {
  const { data, failure, reload } = useResource<{ pools: Pool[] }>("pools", 20, episodes.value?.[0]?.id);
  if (!data) return failure ? <Failed failure={failure} retry={reload} /> : <Loading what="NodePools" />;
  const query = parseQuery(params.value.q ?? "");
  const shown = data.pools.filter((p) => matchText(query, p.name, p.problem, ...p.requirements) || params.value.pool === p.name);
  if (!data.pools.length) return <Blank title="No NodePools" text="A NodePool says which nodes may be launched. Without one, pods stay pending." />;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="NodePools">
      <div class="wrap">
        {failure && <p class="why" role="status">{failure.message} The data is older. {clock(Date.now(), now.value)}</p>}
        {shown.length ? <ul class="cards">{shown.map((p) => <PoolCard key={p.name} pool={p} open={params.value.pool === p.name} />)}</ul> : <NoMatch title="No NodePool matches the search" />}
      </div>
    </div>
  );
}
