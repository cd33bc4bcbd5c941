/** Which page is shown? The frame around all pages, and the choice among them by the address. */

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

import { ApiError } from "../api/client.ts";
import { ErrorPage } from "./errors.tsx";
import { LiveRegion } from "./live.tsx";
import { ReplayPage } from "./replay/page.tsx";
import { EventPage, RunPage, TracePage } from "./resolve.tsx";
import { navigate, route } from "./router.ts";
import { SessionsPage } from "./sessions/page.tsx";
import { SkipLinks } from "./skip.tsx";
import { TopBar } from "./top.tsx";

export function App(): JSX.Element {
  const [page, id, more] = route.value.path;
  return (
    <>
      <SkipLinks />
      <TopBar page={page ?? ""} />
      <Page page={page} id={id} more={more} />
      <LiveRegion />
    </>
  );
}

function Page({
  page,
  id,
  more,
}: {
  page: string | undefined;
  id: string | undefined;
  more: string | undefined;
}): JSX.Element {
  if (page === undefined) return <Redirect to="/sessions" />;
  if (page === "sessions") return <SessionsPage />;
  if (page === "s" && id !== undefined) return <ReplayPage key={id} id={id} />;
  if (page === "e" && id !== undefined) return <EventPage id={id} />;
  if (page === "t" && id !== undefined) return <TracePage trace={id} span={more} />;
  if (page === "r" && id !== undefined) return <RunPage id={id} />;
  return <ErrorPage error={new ApiError(404, "not_found", "")} what="page" />;
}

function Redirect({ to }: { to: string }): JSX.Element {
  useEffect(() => navigate(to, "replace"), [to]);
  return <main class="plain" id="main" />;
}
