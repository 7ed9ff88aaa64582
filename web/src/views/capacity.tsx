import type { Capacity } from "../api";
import { age, count, duration, instant, perHour, plural } from "../format";
import { link, params } from "../router";
import { matchText, parseQuery } from "../search";
import { now, strip } from "../store";
import { Badge, CapacityMark, Clock, Failed, Loading, Meter, Section, Value } from "../ui/parts";
import { useResource } from "../ui/use";

function HeatMap({ refused }: { refused: Capacity["refused"] }) {
  const zones = [...new Set(refused.map((r) => r.zone))].sort();
  const families = [...new Set(refused.map((r) => r.family))].sort();
  const most = Math.max(1, ...refused.map((r) => r.types.length));
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="Refused offerings by zone and family">
      <table class="heat">
        <thead><tr><th>family</th>{zones.map((z) => <th key={z}>{z}</th>)}</tr></thead>
        <tbody>
          {families.map((f) => (
            <tr key={f}>
              <th scope="row">{f}</th>
              {zones.map((z) => {
                const cells = refused.filter((r) => r.zone === z && r.family === f);
                if (!cells.length) return <td key={z}><span class="heat-none" aria-label="nothing refused">·</span></td>;
                const n = cells.reduce((sum, r) => sum + r.types.length, 0);
                const until = Math.max(...cells.map((r) => instant(r.until) ?? 0));
                const step = Math.min(4, Math.max(1, Math.ceil((n / most) * 4)));
                return (
                  <td key={z} class={"heat-" + step} title={cells.map((r) => `${r.capacityType}: ${r.types.join(", ")}\n${r.reason}`).join("\n")}>
                    <b>{plural(n, "type")}</b>
                    <small>{cells.map((r) => <CapacityMark key={r.capacityType} type={r.capacityType} />)} {until ? (until > now.value ? "for " + duration(until - now.value) : "again soon") : "refused"}</small>
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function CapacityView() {
  const { data, failure, reload } = useResource<Capacity>("capacity", 10);
  if (!data) return failure ? <Failed failure={failure} retry={reload} /> : <Loading what="capacity" />;
  const query = parseQuery(params.value.q ?? "");
  const t = now.value;
  const refused = data.refused.filter((r) => matchText(query, r.zone, r.family, r.capacityType, r.reason, ...r.types));
  const interruptions = data.interruptions.filter((i) => matchText(query, i.node, i.type, i.zone, i.kind));
  const spotNodes = data.spot.reduce((n, s) => n + s.nodes, 0);
  const day = data.interruptions.filter((i) => (instant(i.time) ?? 0) > t - 86_400_000).length;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Spot and capacity">
      <div class="wrap">
        <Section title="Refused offerings" note={data.refused.length ? "types that the cloud refused, not tried again until the back-off ends" : undefined}>
          {refused.length ? <HeatMap refused={refused} /> : <p class="muted calm">{data.refused.length ? "None matches the search." : "The cloud refuses no offering now."}</p>}
        </Section>
        <div class="two">
          <Section title="Spot nodes" note={spotNodes ? plural(spotNodes, "node") : undefined}>
            {spotNodes ? (
              <ul class="bars">
                {data.spot.map((s) => <li key={s.zone}><span><a href={link({ q: `zone:${s.zone} capacity:spot` }, "fleet")}>{s.zone}</a></span><span class="bar"><i style={{ width: `${(s.nodes / Math.max(1, ...data.spot.map((x) => x.nodes))) * 100}%` }} /></span><span class="number">{count(s.nodes)} <small><Value text={perHour(s.dollarsPerHour)} />{s.unpriced > 0 && <span class="unpriced">and {count(s.unpriced)} unpriced</span>}</small></span></li>)}
              </ul>
            ) : <p class="muted calm">No spot nodes.</p>}
          </Section>
          <Section title="Reservations">
            {data.reservations.length ? (
              <ul class="limits">
                {data.reservations.map((r) => <li key={r.id}><span><code>{r.id}</code> {r.type}, {r.zone}<b class="number">{count(r.used)} of {count(r.total)}</b></span><Meter used={r.total > 0 ? r.used / r.total : null} label={`${r.id}: ${r.used} of ${r.total} used`} /></li>)}
              </ul>
            ) : <p class="muted calm">No reservation is known.</p>}
          </Section>
        </div>
        <Section title="Interruptions" note={data.interruptions.length ? `${count(day)} in the last 24 h` : undefined}>
          {interruptions.length ? (
            <div class="table-scroll tall" tabIndex={0} role="region" aria-label="Interruptions">
              <table class="plain">
                <thead><tr><th>Time</th><th>Kind</th><th>Node</th><th>Type</th><th>Zone</th></tr></thead>
                <tbody>{interruptions.map((i, n) => <tr key={n}><td title={age(i.time, t) + " ago"}><Clock time={i.time} /></td><td><Badge kind="interruption">{i.kind}</Badge></td><td><code>{i.node}</code></td><td>{i.type}</td><td>{i.zone}</td></tr>)}</tbody>
              </table>
            </div>
          ) : <p class="muted calm">{data.interruptions.length ? "None matches the search." : strip.value?.leader === false ? "Not known here: only the leader acts on interruptions." : "No interruption was announced."}</p>}
        </Section>
        {data.devices.classes.length > 0 && (
          <Section title="Devices" note="dynamic resource allocation: what ResourceClaims request">
            {data.devices.problem && <p class="muted calm">DeviceClasses are not known: {data.devices.problem}</p>}
            <div class="table-scroll" tabIndex={0} role="region" aria-label="Devices">
              <table class="plain">
                <thead><tr><th>DeviceClass</th><th class="number">Requested</th><th class="number">Allocated</th><th class="number">Not allocated</th><th class="number">Pods bound</th><th class="number">Pods pending</th><th>Why they are pending</th></tr></thead>
                <tbody>
                  {data.devices.classes.map((d) => {
                    const known = d.met + d.unmet > 0 || d.uncounted === 0;
                    return (
                      <tr key={d.class}>
                        <td>{d.class ? <code>{d.class}</code> : <Value text="—" />}</td>
                        <td class="number"><Value text={known ? count(d.met + d.unmet) : "—"} />{known && d.uncounted > 0 && "+"}</td>
                        <td class="number"><Value text={known ? count(d.met) : "—"} /></td>
                        <td class="number"><Value text={known ? count(d.unmet) : "—"} /></td>
                        <td class="number">{count(d.podsBound)}</td>
                        <td class="number">{d.podsPending ? <a href={link({ q: d.class }, "pending")}>{count(d.podsPending)}</a> : "0"}</td>
                        <td>{d.reason || <span class="muted">{d.podsPending ? "not planned yet" : ""}</span>}</td>
                      </tr>
                    );
                  })}
                </tbody>
              </table>
            </div>
          </Section>
        )}
      </div>
    </div>
  );
}
